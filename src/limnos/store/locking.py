"""One writer at a time, among processes and threads, and never a wait without an end."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from limnos.kernel.errors import StorageError
from limnos.store.whole import private_folder, storage_error

_PAUSE_SECONDS = 0.02


@contextmanager
def locked(folder: Path, what: str, seconds: float) -> Generator[None]:
    """Hold the lock of `folder`, which is made if it is missing; `what` names what is changed, for the error.

    Raises StorageError when another holds it for `seconds`, or the folder cannot be made.
    """
    try:
        private_folder(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise storage_error(folder / what, error, "try again") from None
    try:
        if not _taken(descriptor, time.monotonic() + seconds):
            raise StorageError(f"{folder / what} is being changed by another program", "try again")
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, deadline: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        else:
            return True
