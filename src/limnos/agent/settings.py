"""Settings: one frozen object made of layers, and the only module that reads the environment.

A value comes from the first layer that has it: flags, environment, the trusted workspace's
`.limnos/config.toml` (a few keys only), `LIMNOS_HOME/config.toml`, `/etc/limnos/config.toml`, the default.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, cast

from limnos import lazy
from limnos.agent.money import money
from limnos.agent.provider_table import check_provider
from limnos.agent.setting_keys import KEYS as KEYS
from limnos.agent.setting_keys import WORKSPACE_KEYS as WORKSPACE_KEYS
from limnos.agent.setting_keys import Key as Key
from limnos.agent.setting_keys import Settings as Settings
from limnos.agent.setting_keys import Value as Value
from limnos.kernel.errors import SettingsError
from limnos.sdk.regular import read_regular

_WORKSPACE_FILE = ".limnos/config.toml"
_MOST_BYTES = 1_000_000
_LARGEST = 10**15  # exact as a float; no setting has a use for more
COMMAND_MARK = "LIMNOS_COMMAND"  # set in every command of the agent, which may not change rules and settings
_FOR_COMMANDS = (
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR",
)  # fmt: skip
_FOR_PIP = frozenset({
    "PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "VIRTUAL_ENV",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
})  # fmt: skip


class Environment(NamedTuple):
    """What the process was started with. `home` is `LIMNOS_HOME`, `cache` the folder of shared downloads."""

    home: Path
    cache: Path
    system: Path
    variables: Mapping[str, str]

    def text(self, name: str) -> str:
        """The variable `name`, or the empty text."""
        return self.variables.get(name, "")

    @property
    def no_color(self) -> bool:
        """`NO_COLOR` counts when it is set and not empty; a dumb terminal has no colours either."""
        return bool(self.text("NO_COLOR")) or self.text("TERM") == "dumb"

    @property
    def accessible(self) -> bool:
        """`ACCESSIBLE=1`: nothing is redrawn."""
        return self.text("ACCESSIBLE") not in ("", "0")

    @property
    def zone(self) -> str:
        """The IANA name of the person's time zone; UTC when it cannot be told."""
        place = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
        names = (self.text("TZ").removeprefix(":"), place)
        return next((name for name in names if is_zone(name)), "UTC")

    def child_environment(self) -> dict[str, str]:
        """What commands that the agent runs may see: no key, no token; and that limnos runs them."""
        seen = {name: self.variables[name] for name in _FOR_COMMANDS if name in self.variables}
        return {**seen, COMMAND_MARK: "1"}

    def pip_environment(self) -> dict[str, str]:
        """What pip sees: where this machine's package index is, and no secret of ours."""
        variables = self.variables.items()
        return {name: value for name, value in variables if name in _FOR_PIP or name.startswith("PIP_")}


def is_zone(name: str) -> bool:
    """Whether `name` is an IANA time zone that this machine knows."""
    try:
        lazy.zoneinfo.ZoneInfo(name)
    except (lazy.zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """Read the environment once; tests pass their own `variables`."""
    known = dict(os.environ if variables is None else variables)
    person = _expanded(known.get("HOME") or "~")
    home = _expanded(known["LIMNOS_HOME"]) if known.get("LIMNOS_HOME") else person / ".limnos"
    cache = Path(known["XDG_CACHE_HOME"]) if known.get("XDG_CACHE_HOME") else person / ".cache"
    return Environment(home.absolute(), cache.absolute(), Path("/etc/limnos"), known)


def _expanded(text: str) -> Path:
    """`~` and `~user` resolved; as it is written, as in a shell, where nobody has that name."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)


class Layer(NamedTuple):
    """What one layer says about a key; `value` None when it says nothing, `note` why it is ignored."""

    name: str
    value: Value | None
    note: str = ""


class Explanation(NamedTuple):
    """Where the value of a key comes from."""

    key: Key
    value: Value
    origin: str
    layers: tuple[Layer, ...]


def load(
    environment: Environment, flags: Mapping[str, str] | None = None, workspace: Path | None = None
) -> Settings:
    """Merge all layers. `workspace` is the folder only if it is trusted. Raises SettingsError."""
    flags = flags or {}
    tables = _tables(environment, None)
    values: dict[str, Any] = {
        key.attribute: _winner(_layers(key, environment, flags, tables))[0] for key in KEYS.values()
    }
    providers: dict[str, Mapping[str, Any]] = {}
    for table in reversed([tables["user"], tables["system"]]):
        providers.update(_providers(table))
    fixed = frozenset(
        key.name for key in KEYS.values() if key.name in flags or environment.text(key.variable)
    )
    settings = Settings(**values, providers=providers, fixed=fixed)
    return with_workspace(settings, workspace) if workspace else settings


def with_workspace(settings: Settings, folder: Path) -> Settings:
    """`settings` with what the trusted `folder` says about the few keys it may set. Raises SettingsError."""
    table = read_table(folder / _WORKSPACE_FILE)
    keys = (KEYS[name] for name in sorted(WORKSPACE_KEYS - settings.fixed))
    said = {key.attribute: _from_table(key, table, _WORKSPACE_FILE) for key in keys}
    changes: dict[str, Any] = {attribute: value for attribute, value in said.items() if value is not None}
    return replace(settings, **changes)


def explain(
    environment: Environment, name: str, flags: Mapping[str, str] | None = None, workspace: Path | None = None
) -> Explanation:
    """Say which layer set `name` and what the others said. Raises SettingsError for an unknown key."""
    key = known_key(name)
    layers = _layers(key, environment, flags or {}, _tables(environment, workspace))
    value, origin = _winner(layers)
    return Explanation(key, value, origin, tuple(layers))


def known_key(name: str) -> Key:
    """The key called `name`. Raises SettingsError that names near ones."""
    if name not in KEYS:
        raise SettingsError(f"no setting is called {name}", f"one of: {', '.join(_near(name))}")
    return KEYS[name]


def _near(name: str) -> list[str]:
    last = name.rsplit(".", maxsplit=1)[-1]
    return [key for key in KEYS if last in key] or lazy.difflib.get_close_matches(name, KEYS) or sorted(KEYS)


def parse_value(key: Key, text: str, where: str) -> Value:
    """Read `text` as a value of `key`. Raises SettingsError that names `where` it stands."""
    try:
        value = cast("Value", key.kind(text))
    except ValueError:
        raise SettingsError(
            f"{key.name} in {where} is {text!r}, not {_kind_name(key.kind)}",
            f"limnos config set {key.name} {key.default or 'VALUE'}",
        ) from None
    return _in_range(key, value, where)


def _in_range(key: Key, value: Value, where: str) -> Value:
    if key.choices and value not in key.choices:
        raise SettingsError(f"{key.name} in {where} is {value!r}", f"one of: {', '.join(key.choices)}")
    number = value if isinstance(value, int | float) else key.least
    if not (key.least <= number <= key.most and number < inf):
        bounds = f"at least {key.least:g}" + (f" and at most {key.most:g}" if key.most < inf else "")
        raise SettingsError(f"{key.name} in {where} is {value}", f"a number of {bounds}")
    if key.money and value:
        money(str(value), f"{key.name} in {where}")
    return value


def _kind_name(kind: type) -> str:
    return {str: "a text", int: "a whole number", float: "a number"}[kind]


def _winner(layers: list[Layer]) -> tuple[Value, str]:
    for layer in layers:
        if layer.value is not None and not layer.note:
            return layer.value, layer.name
    raise AssertionError("the default is always the last layer")


def _layers(
    key: Key, environment: Environment, flags: Mapping[str, str], tables: Mapping[str, Mapping[str, Any]]
) -> list[Layer]:
    flag, variable = flags.get(key.name), environment.text(key.variable)
    layers = [
        Layer("flag", parse_value(key, flag, "the command line") if flag is not None else None),
        Layer(key.variable, parse_value(key, variable, key.variable) if variable else None),
    ]
    allowed = key.name in WORKSPACE_KEYS
    note = "" if allowed else f"a workspace may not set {key.name}"
    for name, place in (
        ("project", _WORKSPACE_FILE),
        ("user", str(environment.home / "config.toml")),
        ("system", str(environment.system / "config.toml")),
    ):
        value = _from_table(key, tables[name], place)
        layers.append(Layer(place, value, note if name == "project" and value is not None else ""))
    return [*layers, Layer("default", key.default)]


def _from_table(key: Key, table: Mapping[str, Any], place: str) -> Value | None:
    value: Any = table
    for part in key.name.split("."):
        value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
    if value is None:
        return None
    if type(value) is int and abs(value) > _LARGEST:
        raise SettingsError(f"{key.name} in {place} is too large a number", f"limnos config unset {key.name}")
    if key.kind is float and type(value) is int:
        value = float(value)
    if key.kind is str and type(value) in (int, float):
        value = str(value)
    if type(value) is not key.kind:
        raise SettingsError(
            f"{key.name} in {place} is {value!r}, not {_kind_name(key.kind)}",
            f"limnos config set {key.name} {key.default or 'VALUE'}",
        )
    return _in_range(key, value, place)


def _tables(environment: Environment, workspace: Path | None) -> dict[str, Mapping[str, Any]]:
    return {
        "project": read_table(workspace / _WORKSPACE_FILE) if workspace else {},
        "user": _known_table(environment.home / "config.toml"),
        "system": _known_table(environment.system / "config.toml"),
    }


def _known_table(path: Path) -> Mapping[str, Any]:
    """The table at `path`. Raises SettingsError for a key that means nothing: a slip must not pass unseen."""
    table = read_table(path)
    for name in _dotted(table):
        if name not in KEYS and not name.startswith("providers."):
            raise SettingsError(
                f"no setting is called {name}, which stands in {path}",
                f"limnos config unset {name}, or write one of: {', '.join(_near(name))}",
            )
    return table


def _dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _dotted(cast("Mapping[str, Any]", value), f"{prefix}{key}.")
        elif not isinstance(value, Mapping):
            yield f"{prefix}{key}"


def read_table(path: Path) -> Mapping[str, Any]:
    """The TOML file at `path`; empty when there is none. Raises SettingsError with the line of a fault."""
    try:
        text = read_regular(path, _MOST_BYTES).decode()
        return lazy.tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, RecursionError) as error:  # also a number too long to be read, brackets too deep
        raise SettingsError(f"{path} is no valid TOML: {error}", f"mend that line of {path}") from None
    except OSError as error:
        fix = f"make {path} a text file that you can read"
        raise SettingsError(f"{path} cannot be read: {error.strerror}", fix) from None


def _providers(table: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    providers = table.get("providers", {})
    if not isinstance(providers, Mapping):
        raise SettingsError("providers is no table", "write [providers.NAME] with base_url and model")
    for name, entry in cast("Mapping[str, Any]", providers).items():
        check_provider(name, entry)
    return cast("Mapping[str, Mapping[str, Any]]", providers)
