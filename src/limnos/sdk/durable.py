"""Making names last: a renamed or new file is only safe from a power cut once its folder is on the disk."""

import os
from contextlib import suppress


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Flush the folder `path` itself; file systems that cannot are left alone."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
