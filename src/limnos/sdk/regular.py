"""Files that must be files: opened without waiting for a pipe or a device, read whole and bounded."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_regular(path: Path, flags: int = 0) -> BinaryIO:
    """The regular file at `path`, to be read; `flags` are further ones of `os.open`.

    Raises OSError; its `strerror` says so when it is a folder or no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    try:
        _check(os.fstat(descriptor).st_mode, path)
        return open(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """The content of the regular file at `path`, links followed, of at most `most` bytes.

    Raises OSError as `open_regular` does, and when it is larger.
    """
    with open_regular(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def _check(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
