"""Memory that two processes map: made by limnos, inherited by a plugin as an open descriptor.

Its size never changes, which both sides rely on: a mapping that reaches beyond the end would kill whoever
touches it. On Linux the seals of a memfd promise that; on macOS a shared object cannot be resized.
"""

import errno
import fcntl
import importlib
import mmap
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final

from limnos.kernel.errors import LimnosError

PAGE: Final = 4096  # bytes; sizes are rounded up to it

# linux/fcntl.h and linux/memfd.h; the interpreter has no names for the last two.
_SHRINK_AND_GROW: Final = 0x0002 | 0x0004
_NO_MORE_SEALS: Final = 0x0001
_FUTURE_WRITE: Final = 0x0010  # since Linux 5.1
_NOEXEC_SEAL: Final = 0x0008  # since Linux 6.3


class SharedMemoryError(LimnosError):
    """This system cannot share memory between processes the way limnos needs it."""


class Segment:
    """A shared segment in this process: `memory` is the mapping, `descriptor` what a child inherits."""

    def __init__(self, descriptor: int, memory: mmap.mmap) -> None:
        self.descriptor = descriptor
        self.memory = memory
        self.size = len(memory)  # bytes

    def close(self) -> None:
        """Close descriptor and mapping; again is fine. Views that are still held keep the mapping alive."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)
        try:
            self.memory.close()
        except BufferError:
            self.memory = mmap.mmap(-1, PAGE)  # the views keep the old one; this one refuses, being closed
            self.memory.close()


def create(name: str, size: int, *, frozen: bool = False, system: str = sys.platform) -> Segment:
    """A new segment of `size` bytes or a little more, all zero, mapped for reading and writing.

    Memory is taken when a page is first touched. `frozen`: only this mapping can ever change the bytes, and
    the descriptor is for reading. Raises SharedMemoryError where the system cannot do this.
    """
    make = _MAKERS.get(system)
    if make is None:
        raise SharedMemoryError(
            f"there is no shared memory on {system}", "use Linux, or WSL2 on Windows; payloads stay inline"
        )
    return make(name, _rounded(size), frozen)


def attach(descriptor: int, size: int, *, writable: bool = True) -> Segment:
    """Map the segment behind an inherited descriptor, which belongs to the segment from then on.

    Raises SharedMemoryError when it has fewer than `size` bytes, OSError when it cannot be mapped.
    """
    found = os.fstat(descriptor).st_size
    if not 0 < size <= found:
        raise SharedMemoryError(
            f"descriptor {descriptor} has {found:,} bytes of memory, {size:,} were announced",
            "start the plugin through limnos",
        )
    access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
    memory = mmap.mmap(descriptor, size, access=access)
    os.set_inheritable(descriptor, False)
    return Segment(descriptor, memory)


def memfd(name: str, size: int, frozen: bool) -> Segment:
    """A segment made with `memfd_create` and sealed: Linux, 5.1 or newer when it is frozen."""
    if not hasattr(os, "memfd_create"):
        raise _refused(name, size, OSError(errno.ENOSYS, "this Python has no memfd_create"))
    try:
        descriptor = _memfd(name)
    except OSError as error:
        raise _refused(name, size, error) from error
    return _finished(name, size, descriptor, _sealed_for_reading if frozen else _sealed)


def posix_object(name: str, size: int, frozen: bool) -> Segment:
    """A segment made with `shm_open` and unlinked at once: macOS, where an object cannot be resized."""
    path = f"/limnos-{os.getpid()}-{os.urandom(4).hex()}"  # at most 31 bytes, which leaves no room for `name`
    library = _posix()
    try:
        descriptor = library.shm_open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
    except OSError as error:
        raise _refused(name, size, error) from error
    try:
        return _finished(name, size, descriptor, _reopened(path) if frozen else lambda same: same)
    finally:
        library.shm_unlink(path)


def _finished(name: str, size: int, descriptor: int, finish: Callable[[int], int]) -> Segment:
    """Give it its size, map it, and only then take away what nobody may do; closes all when that fails."""
    try:
        os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, size)
    except OSError as error:
        os.close(descriptor)
        raise _refused(name, size, error) from error
    try:
        return Segment(finish(descriptor), memory)
    except OSError as error:
        Segment(descriptor, memory).close()
        raise _refused(name, size, error) from error


def _memfd(name: str) -> int:
    """An empty memfd; one that can never be executed where Linux knows of that."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create(f"limnos-{name}", flags | _NOEXEC_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return os.memfd_create(f"limnos-{name}", flags)


def _sealed(descriptor: int) -> int:
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SHRINK_AND_GROW | _NO_MORE_SEALS)
    return descriptor


def _sealed_for_reading(descriptor: int) -> int:
    """Seal it against everybody who would map or write it from now on; the descriptor that remains reads.

    Without that seal any process that inherits it could open it anew for writing.
    """
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SHRINK_AND_GROW | _FUTURE_WRITE | _NO_MORE_SEALS)
    reading = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | os.O_CLOEXEC)
    os.close(descriptor)
    return reading


def _reopened(path: str) -> Callable[[int], int]:
    def reading(descriptor: int) -> int:
        only: int = _posix().shm_open(path, os.O_RDONLY, 0o600)
        os.close(descriptor)
        return only

    return reading


def _posix() -> Any:
    """The interpreter's own module for `shm_open`: type checkers do not know it, and Linux never needs it.

    It takes a C function with a variable list of arguments, which ctypes cannot call right on Apple's chips.
    """
    return importlib.import_module("_posixshmem")


def _refused(name: str, size: int, error: OSError) -> SharedMemoryError:
    return SharedMemoryError(
        f"no shared memory of {size:,} bytes for {name}: {error.strerror or error}",
        "limnos shares memory on Linux 5.1 or newer with /proc, and on macOS",
    )


def _rounded(size: int) -> int:
    if type(size) is not int or size <= 0:
        raise ValueError(f"a segment has at least one byte, not {size!r}")
    return -(-size // PAGE) * PAGE


_MAKERS: Final[Mapping[str, Callable[[str, int, bool], Segment]]] = {"linux": memfd, "darwin": posix_object}
