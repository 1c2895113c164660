"""When a file or folder was made: the one thing that a new one with a reused inode does not share."""

import ctypes
import os
import sys

# include/uapi/asm-generic/unistd.h and arch/x86/entry/syscalls/syscall_64.tbl
_STATX = {"x86_64": 332, "aarch64": 291}
_AT_FDCWD = -100
_STATX_BTIME = 0x800
_SIZE, _MASK, _SECONDS, _NANOSECONDS = 256, 0, 80, 88  # of struct statx, include/uapi/linux/stat.h


def birth_of(path: str) -> int:
    """Nanoseconds since 1970; 0 where the system or the disk does not know. Raises nothing."""
    number = _STATX.get(os.uname().machine) if sys.platform == "linux" else None
    if number is None:
        return 0
    found = ctypes.create_string_buffer(_SIZE)
    name = os.fsencode(path)
    if b"\0" in name or ctypes.CDLL(None).syscall(number, _AT_FDCWD, name, 0, _STATX_BTIME, found) != 0:
        return 0
    if not int.from_bytes(found.raw[_MASK : _MASK + 4], sys.byteorder) & _STATX_BTIME:
        return 0
    seconds = int.from_bytes(found.raw[_SECONDS : _SECONDS + 8], sys.byteorder, signed=True)
    return seconds * 10**9 + int.from_bytes(found.raw[_NANOSECONDS : _NANOSECONDS + 4], sys.byteorder)
