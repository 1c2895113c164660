"""Changing `config.toml` without losing a person's comments."""

import re
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any, cast

from limnos import lazy
from limnos.agent.models import check_name
from limnos.agent.provider_table import PROVIDER_KEYS, check_field
from limnos.agent.settings import (
    Environment,
    Value,
    known_key,
    load,
    parse_value,
    read_table,
)
from limnos.egress.address import split
from limnos.egress.errors import BadAddressError
from limnos.kernel.errors import SettingsError
from limnos.store.whole import storage_error, write_whole

_PROVIDER = re.compile("[A-Za-z0-9_-]+")  # PROVIDER/MODEL is read by its first slash
_TRUTH = {"true": True, "false": False}


def set_value(environment: Environment, name: str, text: str) -> Value:
    """Store `name = text` in `LIMNOS_HOME/config.toml` and return the value as it was understood.

    `name` is a key of `KEYS` or `providers.NAME.FIELD`. Raises SettingsError and changes nothing when the
    value does not fit.
    """
    if not (name + text).isprintable():  # also half a surrogate pair: what came was no UTF-8
        raise SettingsError(f"{name!a} or its value holds what is no text", "write it anew")
    value = (
        _provider_value(name, text)
        if name.startswith("providers.")
        else parse_value(known_key(name), text, "the command line")
    )
    path = environment.home / "config.toml"
    document = _document(path)
    if name == "model" and value:
        check_name(str(value), load(environment).providers)
    table: Any = document
    *parents, last = name.split(".")
    for parent in parents:
        table = table.setdefault(parent, lazy.tomlkit.table())
        if not _is_table(table):
            raise SettingsError(f"{parent} in {path} is no table", f"limnos config unset {parent}")
    if _is_table(table.get(last)):
        raise SettingsError(f"{name} in {path} is a table, not a value", f"limnos config unset {name}")
    table[last] = value
    _write(path, lazy.tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType]
    return value


def unset_value(environment: Environment, name: str) -> bool:
    """Remove `name` from `LIMNOS_HOME/config.toml`; False when it was not set there."""
    path = environment.home / "config.toml"
    document = _document(path)
    *parents, last = name.split(".")
    tables: list[Any] = [document]
    for parent in parents:
        tables.append(tables[-1].get(parent, {}))
        if not _is_table(tables[-1]):
            return False
    if last not in tables[-1]:
        return False
    del tables[-1][last]
    for parent, table in reversed(list(zip(parents, tables, strict=False))):
        if not table[parent]:
            del table[parent]  # an empty table would be a provider without anything
    _write(path, lazy.tomlkit.dumps(document))  # pyright: ignore[reportUnknownMemberType]
    return True


def _is_table(value: Any) -> bool:
    return isinstance(value, MutableMapping)


def _document(path: Path) -> Any:
    read_table(path)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return lazy.tomlkit.parse(text)


def _provider_value(name: str, text: str) -> Value:
    parts = name.split(".")
    if len(parts) != 3 or not _PROVIDER.fullmatch(parts[1]) or PROVIDER_KEYS.get(parts[2]) in (None, dict):
        simple = [key for key, kind in PROVIDER_KEYS.items() if kind is not dict]
        raise SettingsError(
            f"no setting is called {name}", f"providers.NAME. and one of: {', '.join(simple)}"
        )
    if parts[2] == "api_key" and not text.startswith(("env:", "secret:")):
        raise SettingsError(
            f"{name} would hold a key in plain text",
            f"limnos secrets set {parts[1]}, then: {name} secret:{parts[1]}",
        )
    value = _parsed(name, PROVIDER_KEYS[parts[2]], text)
    check_field(parts[1], parts[2], value)
    if parts[2] == "base_url":
        _check_address(name, text)
    return value


def _parsed(name: str, kind: type, text: str) -> Value:
    if kind is bool:
        if text not in _TRUTH:
            raise SettingsError(f"{name} is {text!r}, not true or false", f"limnos config set {name} true")
        return _TRUTH[text]
    try:
        return cast("Value", kind(text))
    except ValueError:
        raise SettingsError(f"{name} is {text!r}, not a number", f"limnos config set {name} NUMBER") from None


def _check_address(name: str, text: str) -> None:
    try:
        split(text)
    except BadAddressError:
        fix = f"limnos config set {name} http://127.0.0.1:11434"
        raise SettingsError(f"{name} would hold no http address", fix) from None


def _write(path: Path, text: str) -> None:
    real = path.resolve()  # a person may keep the file elsewhere and link to it
    try:
        write_whole(real, text.encode())
    except OSError as error:
        raise storage_error(real, error, "try again") from None
