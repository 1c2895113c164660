"""`providers.NAME.FIELD` as `limnos config` shows it: a key by its name, never a value that may be secret."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

from limnos.agent.provider_table import PROVIDER_HELP, PROVIDER_KEYS
from limnos.agent.settings import Environment, Explanation, Key, Layer, load, read_table
from limnos.kernel.errors import SettingsError

PREFIX = "providers."
_USERINFO = re.compile(r"//[^/@]*@")
_ADDRESS = "http://127.0.0.1:11434"


def provider_explanations(environment: Environment) -> Iterator[Explanation]:
    """Every field that is set. Raises SettingsError for one that cannot be read."""
    for name, entry in sorted(load(environment).providers.items()):
        for field in entry:
            yield explain_provider(environment, f"{PREFIX}{name}.{field}")


def explain_provider(environment: Environment, key: str) -> Explanation:
    """Which file sets the field `key`. Raises SettingsError when none does, or no such field exists."""
    name, _, field = key.removeprefix(PREFIX).rpartition(".")
    if not name or field not in PROVIDER_KEYS:
        fix = f"{PREFIX}NAME. and one of: {', '.join(PROVIDER_KEYS)}"
        raise SettingsError(f"no setting is called {key}", fix)
    user, system = (folder / "config.toml" for folder in (environment.home, environment.system))
    own = _entry(read_table(user), name)
    chosen = own or _entry(read_table(system), name)
    if field not in chosen:
        raise SettingsError(f"{key} is not set", f"limnos config set {key} VALUE")
    others = _shown(field, _entry(read_table(system), name).get(field))
    note = f"{user} has a table [providers.{name}] of its own" if own and others is not None else ""
    layers = (Layer(str(user), _shown(field, own.get(field))), Layer(str(system), others, note))
    described = Key(key, "providers", str, "", PROVIDER_HELP[field])
    value = _shown(field, chosen[field])
    return Explanation(described, "" if value is None else value, str(user if own else system), layers)


def next_command(environment: Environment, key: str) -> str:
    """What to do once the field `key` was set in the home: what still lacks, else the use of the model."""
    name = key.removeprefix(PREFIX).rpartition(".")[0]
    entry = _entry(read_table(environment.home / "config.toml"), name)
    for field, example in (("base_url", _ADDRESS), ("model", "MODEL")):
        if not entry.get(field):
            return f"limnos config set {PREFIX}{name}.{field} {example}"
    return f"limnos model use {shlex.quote(name + '/' + str(entry['model']))}"


def _entry(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    providers: Any = table.get("providers", {})
    entry: Any = cast("Mapping[str, Any]", providers).get(name, {}) if isinstance(providers, Mapping) else {}
    return cast("Mapping[str, Any]", entry) if isinstance(entry, Mapping) else {}


def _shown(field: str, value: Any) -> str | int | float | None:
    """A value as it may be shown: headers and extra fields may hold keys, and so may an address."""
    if isinstance(value, Mapping):
        return ", ".join(cast("Mapping[str, Any]", value))
    if field == "api_key" and value is not None and not str(value).startswith(("env:", "secret:")):
        return "(a key in plain text, not shown)"
    return _USERINFO.sub("//...@", value) if isinstance(value, str) else value
