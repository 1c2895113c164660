"""Opening and renaming by descriptor: the system calls that Python has no name for, and their fallback.

A *boundary*: the kernel walks from an open folder, over no link, and never out of it (`openat2`). Where that
call is missing (Linux before 5.6, some containers, macOS), the same walk is made name by name.
"""

import ctypes
import errno
import os
from collections.abc import Sequence
from functools import cache

PATH_ONLY: int = getattr(os, "O_PATH", os.O_RDONLY)
FOLDER = PATH_ONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPENAT2 = 437  # the same number on every architecture
_RENAMEAT2 = {"x86_64": 316, "aarch64": 276}.get(os.uname().machine)
_HOW_BYTES = 24
_LONGEST = 4096  # bytes of a path that Linux takes
_HERE = -100  # AT_FDCWD
_NO_XDEV, _NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x01, 0x02, 0x04, 0x08
_RESOLVE = _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH
_NOREPLACE, _EXCHANGE = 1, 2
_UNSUPPORTED = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_system = ctypes.CDLL(None, use_errno=True).syscall


class UnsupportedError(OSError):
    """This system, or the disk, has no such call."""


def open_beneath(folder: int, names: Sequence[str], flags: int) -> int:
    """A descriptor of what lies at `names` below the open `folder`; no name may be a link, or `..`.

    `flags` are those of `os.open` and make nothing. Raises OSError; ELOOP or ENOTDIR when a link is there.
    """
    if not names:
        return os.open(".", flags | os.O_CLOEXEC, dir_fd=folder)
    if has_openat2():
        return _openat2(folder, "/".join(names), flags, _RESOLVE)
    return _walk(folder, names, flags)


def open_on_this_disk(folder: int, name: str, flags: int) -> int:
    """Like `open_beneath` with `a/b` as the name, and over no mount point either: that is EXDEV.

    Only where `has_openat2`.
    """
    return _openat2(folder, name, flags, _RESOLVE | _NO_XDEV)


@cache
def has_openat2() -> bool:
    """Whether the kernel has the call, and lets us make it."""
    try:
        os.close(_openat2(_HERE, ".", PATH_ONLY, _RESOLVE))
    except OSError:
        return False
    return True


def _openat2(folder: int, name: str, flags: int, resolve: int) -> int:
    found: int = _system(_OPENAT2, folder, os.fsencode(name), _how(flags, resolve), _HOW_BYTES)
    if found < 0:
        raise _error(name)
    return found


@cache
def _how(flags: int, resolve: int) -> "ctypes.Array[ctypes.c_uint64]":
    return (ctypes.c_uint64 * 3)(flags | os.O_CLOEXEC, 0, resolve)


def _walk(folder: int, names: Sequence[str], flags: int) -> int:
    if ".." in names:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    if sum(map(len, names)) + len(names) > _LONGEST:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    here = folder
    try:
        for name in names[:-1]:
            below = os.open(name, FOLDER, dir_fd=here)
            if here != folder:
                os.close(here)
            here = below
        return os.open(names[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
    finally:
        if here != folder:
            os.close(here)


def rename_new(folder: int, old: str, new: str) -> None:
    """Rename within `folder`, only to a name that is not there. Raises FileExistsError, or another OSError.

    A disk without such a call gets a look before the renaming.
    """
    try:
        _renameat2(folder, old, new, _NOREPLACE)
    except UnsupportedError:
        if _there(folder, new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(old, new, src_dir_fd=folder, dst_dir_fd=folder)


def exchange(folder: int, one: str, other: str) -> None:
    """Give two files in `folder` each other's name, in one step. Raises UnsupportedError, or an OSError."""
    _renameat2(folder, one, other, _EXCHANGE)


def _renameat2(folder: int, old: str, new: str, flags: int) -> None:
    if _RENAMEAT2 is None:
        raise UnsupportedError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    source, target = os.fsencode(old), os.fsencode(new)
    if _system(_RENAMEAT2, folder, source, folder, target, flags) == 0:
        return
    error = _error(new)
    raise UnsupportedError(*error.args) if error.errno in _UNSUPPORTED else error


def _there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _error(name: str) -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code), name)
