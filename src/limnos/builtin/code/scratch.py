"""The scratch folder of a session: all that its code may write to, bounded, and gone with the session."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 256 << 20
MOST_NAMES = 10_000


class Scratch:
    """An empty folder that this process alone may remove. Raises OSError when it cannot be made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        removed(path)
        path.mkdir(mode=0o700, parents=True)
        self._held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        fcntl.flock(self._held, fcntl.LOCK_EX)

    def clear(self) -> None:
        """Empty it."""
        for name in os.listdir(self.path):
            removed(self.path / name)

    def remove(self) -> None:
        """Delete it with all that is in it."""
        removed(self.path)
        os.close(self._held)


def removed_leftovers(folder: Path) -> None:
    """Delete the scratch folders in `folder` that no living process holds."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    for name in names:
        try:
            held = os.open(folder / name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # something of somebody else, or gone meanwhile
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            removed(folder / name)
        except BlockingIOError:
            continue
        finally:
            os.close(held)


def is_full(folder: Path) -> bool:
    """Whether more is in it than may be, bytes or names, or a folder that cannot be looked into."""
    size = names = 0
    try:
        for info in _below(str(folder)):
            names += 1
            size += info.st_blocks * 512
            if size > MOST_BYTES or names > MOST_NAMES:
                return True
    except PermissionError:
        return True
    return False


def removed(path: Path) -> None:
    """Delete what is at `path`, if anything is. No link is followed; closed folders are opened before."""
    try:
        if not path.is_dir() or path.is_symlink():
            path.unlink()
            return
    except FileNotFoundError:
        return
    try:
        shutil.rmtree(path)
    except PermissionError:
        _open_up(str(path))
        shutil.rmtree(path)


def _open_up(root: str) -> None:
    """Let us into `root` and all folders below it; who closed them is gone by now."""
    _allow(root)
    for folder, names, _ in os.walk(root):
        for name in names:
            _allow(os.path.join(folder, name))


def _allow(folder: str) -> None:
    try:
        held = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except NotADirectoryError:  # a link to one
        return
    try:
        os.chmod(f"/proc/self/fd/{held}", 0o700)
    finally:
        os.close(held)


def _below(folder: str) -> Iterator[os.stat_result]:
    waiting = [folder]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            with suppress(FileNotFoundError):  # gone meanwhile
                yield entry.stat(follow_symlinks=False)


def _entries(folder: str) -> "Iterator[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:  # gone meanwhile
        return
