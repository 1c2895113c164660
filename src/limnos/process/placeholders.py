"""Stand-ins for protected names that are absent, since only what exists can be mounted over.

A stand-in is an empty folder (git shows none) or, inside `.git`, a small file; its odd mode marks it as
ours. It is made before the sandbox starts and removed when the last sandbox that needs it has ended. Each
holder has a shared lock on it, which ends with the process: what a killed one left is removed by the next
run. Everything goes through descriptors of folders, and only what is still empty and marked is ever removed.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from limnos.process.beneath import open_parent

_FOLDER_MODE = stat.S_ISVTX | 0o555
_FILE_MODE = stat.S_ISVTX | 0o444
_TRIES = 2000
_PAUSE_S = 0.001


class Wanted(NamedTuple):
    """A name to keep free. With `content` the stand-in is a file, else an empty folder."""

    path: str
    content: bytes | None = None


class Held(NamedTuple):
    """A stand-in that we hold, and the folder it is in, as descriptors."""

    wanted: Wanted
    parent: int
    descriptor: int


class Placeholders:
    """The stand-ins of one run."""

    def __init__(self) -> None:
        self._parents: dict[str, int] = {}
        self._held: list[Held] = []

    def hold(self, wanted: Iterable[Wanted]) -> None:
        """Put stand-ins in place and hold them until `release`, to be called also after a failure.

        None is made in a folder of somebody else that we may not write: the sandbox, with the same rights,
        cannot either. Raises OSError.
        """
        for one in wanted:
            self._hold(self._parent(one.path), one)

    def release(self) -> None:
        """Let go; removes each stand-in that nobody else holds."""
        while self._held:
            one = self._held.pop()
            try:
                _remove_if_last(one)
            finally:
                os.close(one.descriptor)
        while self._parents:
            os.close(self._parents.popitem()[1])

    def _parent(self, path: str) -> int:
        folder = os.path.dirname(path)
        if folder not in self._parents:
            self._parents[folder] = open_parent(path)
        return self._parents[folder]

    def _hold(self, parent: int, wanted: Wanted) -> None:
        try:
            for _ in range(_TRIES):
                if (descriptor := _open(parent, wanted)) is not None:
                    self._held.append(Held(wanted, parent, descriptor))
                    return
                time.sleep(_PAUSE_S)  # another one removes it right now, which takes some microseconds
        except OSError as error:
            theirs = os.fstat(parent).st_uid != os.geteuid()
            if error.errno == errno.EROFS or (error.errno == errno.EACCES and theirs):
                return
            raise
        raise BlockingIOError(errno.EBUSY, "it is made and removed all the time", wanted.path)


def is_ours(path: str) -> bool:
    """Whether a stand-in is at `path`, of this or another run: marked, and empty if it is a folder.

    The mark is a mode, which a command can give to a folder of its own.
    """
    try:
        info = os.lstat(path)
        return _marked(info) and not (stat.S_ISDIR(info.st_mode) and os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return False


def _open(parent: int, wanted: Wanted) -> int | None:
    """The stand-in, locked and in place; None when somebody removes it at this moment."""
    name = os.path.basename(wanted.path)
    made = _make(parent, name, wanted.content)
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent)
    except FileNotFoundError:
        return None
    if not _marked(os.fstat(descriptor)):
        os.close(descriptor)
        if made and wanted.content is None:
            os.rmdir(name, dir_fd=parent)
        raise OSError(errno.ENOTSUP, "somebody made it, or this file system keeps no modes", wanted.path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    if _in_place(parent, name, descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _make(parent: int, name: str, content: bytes | None) -> bool:
    """Make the stand-in in one step, whole and marked; False when something is there already."""
    try:
        if content is None:
            os.mkdir(name, _FOLDER_MODE, dir_fd=parent)
            return True
        descriptor = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, _FILE_MODE, dir_fd=parent)
        try:
            os.write(descriptor, content)
            os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=parent, follow_symlinks=True)
        finally:
            os.close(descriptor)
    except FileExistsError:
        return False
    return True


def _marked(found: os.stat_result) -> bool:
    """Sticky and writable for nobody; the umask may have taken more away."""
    if found.st_uid != os.geteuid():
        return False
    mode = stat.S_IMODE(found.st_mode)
    full = _FOLDER_MODE if stat.S_ISDIR(found.st_mode) else _FILE_MODE
    known = stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)
    return known and mode | full == full and bool(mode & stat.S_ISVTX)


def _in_place(parent: int, name: str, descriptor: int) -> bool:
    with suppress(FileNotFoundError):
        there = os.stat(name, dir_fd=parent, follow_symlinks=False)
        return os.path.samestat(there, os.fstat(descriptor))
    return False


def _remove_if_last(one: Held) -> None:
    name = os.path.basename(one.wanted.path)
    try:
        fcntl.flock(one.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    found = os.fstat(one.descriptor)
    if not _in_place(one.parent, name, one.descriptor) or not _marked(found):
        return
    with suppress(OSError):  # not empty: somebody put something in, so it is theirs now
        if stat.S_ISDIR(found.st_mode):
            os.rmdir(name, dir_fd=one.parent)
        elif found.st_size == len(one.wanted.content or b""):
            os.unlink(name, dir_fd=one.parent)
