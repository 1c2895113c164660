"""Files of limnos's own state: whole or absent, for their owner alone; and what it means when that fails."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from limnos.kernel.errors import StorageError
from limnos.sdk.durable import sync_folder


def private_folder(path: Path) -> None:
    """Make `path` and what is missing above it, each for its owner alone. Raises OSError."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(folder.parent)
    path.mkdir(exist_ok=True)


def open_to_append(path: Path) -> int:
    """A descriptor that adds to the end of `path`, which is made, mode 0600, if it is missing.

    So are its folders. A pipe in its place is not waited for. Raises OSError.
    """
    private_folder(path.parent)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)


def write_whole(path: Path, data: bytes) -> None:
    """Replace `path`, mode 0600, with its folders: a reader sees the old or the new file, never a half.

    On the disk when this returns. Raises OSError, and leaves nothing behind then.
    """
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


_NO_PLACE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST)


def storage_error(path: Path, error: OSError, again: str = "/continue") -> StorageError:
    """What a failed write means for the person; `again` is what to do once the disk takes it."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageError(
            f"nothing is saved from now on: the disk of {path.parent} is full",
            f"free some space, then {again}",
        )
    if error.errno in _NO_PLACE:
        return StorageError(
            f"{path.parent} cannot be written: {error.strerror}",
            "make it writable, or name another home in LIMNOS_HOME",
        )
    return StorageError(f"{path} failed: {error.strerror}", f"check the disk, then {again}")
