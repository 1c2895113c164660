"""The names in folders: bounded, read through descriptors, never through a link."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from limnos import lazy
from limnos.kernel.tools import ToolFailure
from limnos.sdk.file_failures import missing, require_regular
from limnos.sdk.root import MAX_DEPTH, Root

MAX_ENTRIES = 10_000
MAX_NAMES = 200_000
NEAR, LIKENESS = 3, 0.5
SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".hg", ".svn"})
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Entry(NamedTuple):
    """One name in a folder; `size` in bytes, 0 for folders. `kind` is file, folder, link or special."""

    name: str
    kind: str
    size: int


def entries(root: Root, path: str) -> list[Entry]:
    """The first 10,000 names in a folder, folders first, then by name; of a file its own.

    Raises ToolFailure, OSError.
    """
    with root.find(path) as place:
        info = place.info
        if info is None:
            raise missing(path)
        if stat.S_ISREG(info.st_mode):
            return [Entry(place.last, "file", info.st_size)]
        folder = os.open(place.last, _LIST, dir_fd=place.folder)
    try:
        with os.scandir(folder) as found:
            first = [one.name for one in islice(found, MAX_ENTRIES)]
        listed = [entry for name in first if (entry := _entry(folder, name)) is not None]
    finally:
        os.close(folder)
    return sorted(listed, key=lambda entry: (entry.kind != "folder", entry.name))


class Walk:
    """The files below a place, folder by folder, each sorted by name.

    Folders of `SKIPPED`, links and what is refused are not entered, nor what lies deeper than 200 folders.
    Ends after 10,000 files, after 200,000 names, and when `over`. What of a folder was not looked at is
    added to `left_out`.
    """

    def __init__(self, root: Root, left_out: set[str], over: Callable[[], bool]) -> None:
        self._root = root
        self._left_out = left_out
        self._over = over
        self._top = 0
        self._files = 0
        self._names = 0

    def below(self, path: str) -> Iterator[tuple[str, int]]:
        """Names relative to the root, and sizes in bytes. Raises ToolFailure."""
        with self._root.find(path) as place:
            info, names = place.info, place.names
        if info is None:
            raise missing(path)
        if not stat.S_ISDIR(info.st_mode):
            require_regular(info.st_mode, 0, path)
            yield "/".join(names), info.st_size
            return
        self._top = len(names)
        pending = [names]
        while pending and not self._over() and self._files <= MAX_ENTRIES:
            yield from self._folder(pending.pop(), pending)

    def _folder(self, names: tuple[str, ...], pending: list[tuple[str, ...]]) -> Iterator[tuple[str, int]]:
        try:
            folder = self._root.open_folder(names, "/".join(names), _LIST)
        except (OSError, ToolFailure):  # gone, swapped for a link, or not ours to read
            return
        try:
            files, folders = self._contents(folder, names)
            pending += [(*names, name) for name in reversed(folders)]
            for name in files:
                info = None if self._over() else _look(folder, name)
                if info is None or not stat.S_ISREG(info.st_mode):
                    continue
                self._files += 1
                if self._files > MAX_ENTRIES:
                    return
                yield "/".join((*names, name)), info.st_size
        finally:
            os.close(folder)

    def _contents(self, folder: int, names: tuple[str, ...]) -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        room = MAX_NAMES - self._names
        with os.scandir(folder) as found:
            for one in islice(found, max(room, 0)):
                (folders if one.is_dir(follow_symlinks=False) else files).append(one.name)
            cut_short = next(found, None) is not None
        self._names += len(files) + len(folders)
        if folders and len(names) - self._top >= MAX_DEPTH:
            cut_short, folders = True, []
        if cut_short:
            self._left_out.add(f"the rest of {'/'.join(names) or 'the folder'}")
        self._left_out |= SKIPPED.intersection(folders)
        entered = [name for name in folders if name not in SKIPPED and not self._refused((*names, name))]
        return sorted(files), sorted(entered)

    def _refused(self, names: Sequence[str]) -> bool:
        return self._root.refused.by_name(names)


def near(root: Root, path: str) -> tuple[str, ...]:
    """Up to three names that `path` may have meant: like it in its folder, or the same one elsewhere."""
    names = root.resolve(path)
    wanted = path.strip().rstrip("/").rpartition("/")[2]
    folder = "/".join(names[:-1]) or "."
    try:
        with root.find("/".join(names) or ".") as place:
            if place.info is not None:
                return ()
        beside = [entry.name for entry in entries(root, folder)]
    except (OSError, ToolFailure):  # its folder is not there either
        beside = []
    like = lazy.difflib.get_close_matches(wanted, beside, NEAR, LIKENESS)
    above = "" if folder == "." else f"{folder}/"
    walk = Walk(root, set(), lambda: False)
    elsewhere = (name for name, _ in walk.below(".") if name.rpartition("/")[2] == wanted)
    return tuple(dict.fromkeys([*(f"{above}{name}" for name in like), *islice(elsewhere, NEAR)]))[:NEAR]


def _entry(folder: int, name: str) -> Entry | None:
    info = _look(folder, name)
    if info is None:
        return None
    if stat.S_ISDIR(info.st_mode):
        return Entry(name, "folder", 0)
    if stat.S_ISLNK(info.st_mode):
        return Entry(name, "link", 0)
    return Entry(name, "file" if stat.S_ISREG(info.st_mode) else "special", info.st_size)


def _look(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
