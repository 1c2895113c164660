"""`limnos config`: settings and where they come from."""

import json
from pathlib import Path
from typing import Annotated

from limnos.agent.settings import KEYS, Explanation, Layer, Value, explain, known_key, load
from limnos.agent.settings_file import set_value, unset_value
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.fetching import chosen_name
from limnos.frontends.cli.private import refuse_key
from limnos.frontends.cli.provider_settings import (
    PREFIX,
    explain_provider,
    next_command,
    provider_explanations,
)
from limnos.frontends.cli.starting import flag_of
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.providers.catalogue import catalogue

_WORKSPACE_FILE = ".limnos/config.toml"
_Key = Annotated[str, Argument(metavar="KEY", help="a setting of limnos config list")]
_Json = Annotated[bool, Option("--json", help="one record a line")]


def get(console: Console, key: _Key) -> None:
    """Print the value of a setting."""
    console.data(f"{_text(_found(console, key).value)}\n")


def set_key(
    console: Console,
    key: _Key,
    value: Annotated[str, Argument(metavar="VALUE", help="the new value; secrets go to limnos secrets")],
) -> None:
    """Store a setting in the home."""
    refuse_own_commands("changing settings")
    if key in ("model", "fallback") or (key.startswith(PREFIX) and key.endswith(".model")):
        refuse_key(f"the value of {key}", value)
    stored = set_value(console.environment, key, value)
    more = next_command(console.environment, key) if key.startswith(PREFIX) else ""
    shown = one_line(_text(_found(console, key).value if more else stored))
    console.done(f"{one_line(key)} = {shown}", more or f"limnos config --explain {key}")


def unset(console: Console, key: _Key) -> None:
    """Remove a setting from the home; the next layer counts again."""
    refuse_own_commands("changing settings")
    if not unset_value(console.environment, key):
        if not key.startswith(PREFIX):
            known_key(key)
        console.say_line(console.look.signed("idle", f"{one_line(key)} was not set; nothing changed"))
        return
    shown = f"limnos config --explain {key}" if key in KEYS else "limnos config list"
    console.done(f"{one_line(key)} is unset", shown)


def list_keys(console: Console, as_json: _Json = False) -> None:
    """Show every setting, its value and where it comes from."""
    known = [explain(console.environment, name) for name in KEYS]
    found = [*known, *provider_explanations(console.environment)]
    if as_json:
        for item in found:
            record = {"key": item.key.name, "value": item.value, "from": item.origin, "help": item.key.help}
            console.record(record)
        return
    rows = [
        (item.key.name, _text(item.value) or "-", _place(console, item.origin), item.key.help)
        for item in found
    ]
    console.rows(("key", "value", "from", "what"), rows)


def config(
    console: Console,
    key: Annotated[
        str | None,
        Option("--explain", metavar="KEY", help="which layer set it, and what the others say"),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Explain a setting."""
    if key is None:
        raise UsageError(
            "limnos config needs one of: get, set, unset, list, --explain KEY", "limnos config list"
        )
    found = _found(console, key)
    found = found if key.startswith(PREFIX) else _with_workspace(console, found)
    if as_json:
        layers = [{"name": item.name, "value": item.value, "note": item.note} for item in found.layers]
        record = {"key": key, "value": found.value, "from": found.origin, "layers": layers}
        console.record(record | ({"used": _used(console)[0]} if key == "model" else {}))
        return
    _explain(console, found)


def _found(console: Console, key: str) -> Explanation:
    return (explain_provider if key.startswith(PREFIX) else explain)(console.environment, key)


def _with_workspace(console: Console, found: Explanation) -> Explanation:
    """`found` with what the file of this folder says, which counts only where the folder is trusted."""
    try:
        folder = Path(console.folder)
        if (folder / _WORKSPACE_FILE).parent == console.environment.home:  # a layer of its own already
            return found
        trusted = explain(console.environment, found.key.name, workspace=folder)
        said = next(layer for layer in trusted.layers if layer.name == _WORKSPACE_FILE)
    except UsageError as error:
        said = Layer(_WORKSPACE_FILE, None, error.what)
    if said.value is not None and not said.note:
        said = said._replace(note=f"says {_quoted(said.value)}, which counts with --trust only")
    layers = tuple(said if layer.name == _WORKSPACE_FILE else layer for layer in found.layers)
    return found._replace(layers=layers)


def _explain(console: Console, found: Explanation) -> None:
    origin = _place(console, found.origin)
    console.data(f"{found.key.name} = {_quoted(found.value)}   from {origin}\n")
    flag = flag_of(found.key.name)
    layers = [item._replace(name=flag) if item.name == "flag" else item for item in found.layers]
    silent = [item.name for item in layers if item.name and item.value is None and not item.note]
    if silent:
        console.data(f"  not set   {', '.join(_place(console, name) for name in silent)}\n")
    for item in layers:
        place = _place(console, item.name)
        if item.note:
            console.data(f"  ignored   {place}: {one_line(item.note)}\n")
        elif item.value is not None and item.name != found.origin:
            console.data(f"  hidden    {place}: says {_quoted(item.value)}\n")
    if found.key.name == "model" and not found.value:
        console.data(f"  used      {', '.join(map(one_line, _used(console)))}\n")


def _used(console: Console) -> tuple[str, str]:
    """The model that the settings mean, and why where none is set."""
    name = chosen_name(load(console.environment))
    if name in catalogue():
        return name, "as no model is set and no provider has both base_url and model"
    return name, "as no model is set and this is the first provider with base_url and model"


def _place(console: Console, name: str) -> str:
    return console.look.path(one_line(name))


def _quoted(value: Value | None) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


FUNCTIONS = {"list": list_keys, "get": get, "set": set_key, "unset": unset, "": config}
