"""Where plugins and what belongs to them lie below `LIMNOS_HOME`, and those that limnos brings along."""

import os
from collections.abc import Iterator
from pathlib import Path

MOST_PLUGINS = 512


def plugins_folder(home: Path) -> Path:
    """The folder of all installed plugins."""
    return home / "plugins"


def folder_of(home: Path, name: str) -> Path:
    """Where the installed plugin `name` lies."""
    return home / "plugins" / name


def data_of(home: Path, name: str) -> Path:
    """The folder of its own that a plugin keeps data in."""
    return home / "plugin-data" / name


def settings_of(home: Path, name: str) -> Path:
    """The file with what a person set for a plugin."""
    return home / "plugin-settings" / f"{name}.json"


def log_of(home: Path, name: str) -> Path:
    """The file with what the plugin `name` wrote, and what limnos noted about it."""
    return home / "logs" / "plugins" / f"{name}.log"


def builtin_folders(package: Path = Path(__file__).parents[1]) -> tuple[Path, ...]:
    """The folders of the plugins that belong to limnos, by name."""
    return tuple(_plugins_in(package / "builtin"))


def installed_folders(home: Path) -> tuple[Path, ...]:
    """The folders below `LIMNOS_HOME/plugins`, by name; drafts, which begin with a dot, are none."""
    return tuple(_plugins_in(plugins_folder(home)))


def _plugins_in(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if one.name[0] not in "._" and one.is_dir())
    except OSError:
        return
    yield from (folder / name for name in names[:MOST_PLUGINS])
