"""Reading and writing `LIMNOS_HOME/plugins.lock`: JSON, so that a start reads no TOML and hashes no files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, cast

from limnos.kernel.errors import LimnosError
from limnos.plugins.locked import Lock, Locked, Need
from limnos.plugins.manifest import (
    ChannelDeclaration,
    Manifest,
    PluginLimits,
    StageDeclaration,
    ToolDeclaration,
)
from limnos.plugins.places import folder_of
from limnos.sdk.regular import read_regular
from limnos.store.whole import storage_error, write_whole

FILE: Final = "plugins.lock"
TREES: Final = "plugins.files.json"
FORMAT: Final = 1
_MOST_BYTES = 64 << 20
_AGAIN = "limnos plugins lock makes it anew"
_LISTS = ("entry", "provides", "needs", "capabilities", "scenes", "proxies")


class UnreadableLockError(LimnosError):
    """A lock that is damaged, or of another limnos."""


def read_lock(home: Path) -> Lock | None:
    """The lock of `home`; None when there is none. Raises UnreadableLockError."""
    path = home / FILE
    value = _read(path)
    if value is None:
        return None
    if value.get("format") != FORMAT:
        raise UnreadableLockError(f"{path} is of format {value.get('format')!r}, not {FORMAT}", _AGAIN)
    try:
        return Lock(tuple(_locked(home, row) for row in value["plugins"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableLockError(f"{path} holds what limnos does not write: {error!a}", _AGAIN) from None


def write_lock(home: Path, lock: Lock) -> None:
    """Replace the lock of `home` at once. Raises StorageError."""
    rows = [
        {
            "name": one.name,
            "version": one.manifest.version,
            "tree": one.tree,
            "needs": one.needs,
            "prints": one.prints,
            "down": one.down,
            "disabled": one.disabled,
            "manifest": _plain(one.manifest),
        }
        for one in lock.plugins
    ]
    _write(home / FILE, {"format": FORMAT, "plugins": rows})


def read_trees(home: Path) -> Mapping[str, Mapping[str, str]]:
    """The files of each accepted plugin, with their hashes; empty when they are not known."""
    try:
        value = _read(home / TREES) or {}
    except UnreadableLockError:
        return {}
    return {name: cast("dict[str, str]", files) for name, files in value.items() if isinstance(files, dict)}


def write_trees(home: Path, trees: Mapping[str, Mapping[str, str]]) -> None:
    """Replace what is known of the files of plugins. Raises StorageError."""
    _write(home / TREES, {name: dict(files) for name, files in sorted(trees.items())})


def _read(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(read_regular(path, _MOST_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise UnreadableLockError(f"{path} cannot be read: {error!a}", _AGAIN) from None
    if not isinstance(value, dict):
        raise UnreadableLockError(f"{path} holds no object", _AGAIN)
    return cast("dict[str, Any]", value)


def _write(path: Path, value: Any) -> None:
    try:
        write_whole(path, (json.dumps(value, separators=(",", ":")) + "\n").encode())
    except OSError as error:
        raise storage_error(path, error, "try again") from None


def _plain(manifest: Manifest) -> dict[str, Any]:
    """A manifest as JSON has it, without what the lock knows better: where an installed plugin lies."""
    value = manifest._asdict()
    value["tools"] = [tool._asdict() for tool in manifest.tools]
    value["stages"] = [stage._asdict() for stage in manifest.stages]
    value["channels"] = [channel._asdict() for channel in manifest.channels]
    value["limits"] = manifest.limits._asdict()
    value["settings"] = dict(manifest.settings)
    if not manifest.builtin:
        del value["folder"]
    return value


def _locked(home: Path, row: Mapping[str, Any]) -> Locked:
    return Locked(
        manifest=_manifest(home, row["manifest"]),
        needs=tuple(Need(*need) for need in row["needs"]),
        tree=row["tree"],
        prints=tuple(row["prints"]),
        down=row["down"],
        disabled=row["disabled"],
    )


def _manifest(home: Path, value: Mapping[str, Any]) -> Manifest:
    parts: dict[str, Any] = {
        "tools": tuple(ToolDeclaration(**one) for one in value["tools"]),
        "stages": tuple(StageDeclaration(**one) for one in value["stages"]),
        "channels": tuple(ChannelDeclaration(**one) for one in value["channels"]),
        "limits": PluginLimits(**value["limits"]),
        **{name: tuple(value[name]) for name in _LISTS},
    }
    if not value["builtin"]:
        parts["folder"] = str(folder_of(home, value["name"]))
    return Manifest(**{**value, **parts})
