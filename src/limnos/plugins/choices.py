"""What a person decided about plugins: which are disabled, and whose facility is preferred."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from limnos.kernel.arguments import ParseFailure, parse_json
from limnos.kernel.errors import SettingsError
from limnos.plugins.manifest import Manifest
from limnos.sdk.regular import read_regular
from limnos.store.whole import storage_error, write_whole

FILE: Final = "plugins.json"
_MOST_BYTES = 1_000_000


class Choices(NamedTuple):
    """Names of disabled plugins, and for a facility the plugin that is to provide it.

    `enabled` names those that are off until a person says otherwise, and one did.
    """

    disabled: frozenset[str] = frozenset()
    prefer: Mapping[str, str] = MappingProxyType({})
    enabled: frozenset[str] = frozenset()

    def keeps_off(self, manifest: Manifest) -> bool:
        """Whether a plugin is not to start."""
        return manifest.name in self.disabled or (manifest.off and manifest.name not in self.enabled)

    def chosen(self, name: str, *, disabled: bool) -> "Choices":
        """With the word of a person about the plugin `name`."""
        on, off = self.enabled - {name}, self.disabled - {name}
        return Choices(off | {name}, self.prefer, on) if disabled else Choices(off, self.prefer, on | {name})

    def without(self, name: str) -> "Choices":
        """Without any word about the plugin `name`."""
        prefer = {facility: plugin for facility, plugin in self.prefer.items() if plugin != name}
        return Choices(self.disabled - {name}, prefer, self.enabled - {name})


def read_choices(home: Path) -> Choices:
    """The choices in `home`; none when nothing was chosen. Raises SettingsError."""
    path = home / FILE
    try:
        value = parse_json(read_regular(path, _MOST_BYTES).decode())
    except (FileNotFoundError, NotADirectoryError):
        return Choices()
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}", "make it readable") from None
    except UnicodeDecodeError:
        raise _unreadable(path, "it is no UTF-8") from None
    if isinstance(value, ParseFailure):
        raise _unreadable(path, value.detail)
    known = cast("Mapping[str, Any]", value) if isinstance(value, dict) else {"disabled": 0}
    disabled: Any = known.get("disabled", [])
    enabled: Any = known.get("enabled", [])
    prefer: Any = known.get("prefer") or {}
    pairs: dict[str, Any] = cast("dict[str, Any]", prefer) if isinstance(prefer, dict) else {"": 0}
    if not all(map(_is_texts, (disabled, enabled, list(pairs.values())))):
        raise _unreadable(path, "it holds other things than limnos writes")
    off, on = (frozenset(cast("list[str]", names)) for names in (disabled, enabled))
    return Choices(off, pairs, on)


def write_choices(home: Path, choices: Choices) -> None:
    """Store the choices. Raises StorageError."""
    value: dict[str, Any] = {
        "disabled": sorted(choices.disabled),
        "prefer": dict(sorted(choices.prefer.items())),
    }
    if choices.enabled:
        value["enabled"] = sorted(choices.enabled)
    path = home / FILE
    try:
        write_whole(path, (json.dumps(value, indent=1) + "\n").encode())
    except OSError as error:
        raise storage_error(path, error, "try again") from None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[Any]", value))


def _unreadable(path: Path, why: str) -> SettingsError:
    fix = f"mend or remove {path}; then no plugin is disabled and none is preferred"
    return SettingsError(f"{path} says nothing that limnos understands: {why}", fix)
