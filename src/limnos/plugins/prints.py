"""A cheap look at the files of a plugin: whether it may have changed. Every start takes it."""

import os
from pathlib import Path

_MANIFEST = "plugin.toml"
_PYTHON = "python:"


def prints(folder: Path, entry: tuple[str, ...]) -> list[str]:
    """Size, times and inode of what decides about a plugin: its manifest, its entry, schemas beside them.

    Another print is no proof of a change, the same one none of the contrary: it is what a start looks at.
    """
    names = {_MANIFEST, *_entry_files(entry)}
    try:
        with os.scandir(folder) as found:
            names |= {one.name for one in found if one.name.endswith(".json")}
    except OSError:
        return []
    return [f"{name} {_print(folder / name)}" for name in sorted(names)]


def _entry_files(entry: tuple[str, ...]) -> tuple[str, ...]:
    first = entry[0] if entry else ""
    if not first.startswith(_PYTHON):
        return (first,) if "/" in first else ()
    place = first.removeprefix(_PYTHON).replace(".", "/")
    return f"{place}.py", f"{place}/__init__.py", f"{place}/__main__.py"


def _print(path: Path) -> str:
    try:
        info = os.lstat(path)
    except OSError:
        return "-"
    return f"{info.st_mode:o} {info.st_size} {info.st_mtime_ns} {info.st_ctime_ns} {info.st_ino}"
