"""Disks that refuse: really full ones where we may mount them, else a file size that the system enforces."""

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class FullDisk:
    """A folder on a disk that can be filled to the last byte, and freed."""

    folder: Path
    mounted: bool

    @contextmanager
    def filled(self, largest: int = 0) -> Iterator[None]:
        """Inside, writing fails; `largest` is the size that files keep where only their size is limited."""
        if not self.mounted:
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
            try:
                yield
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            return
        filler = self.folder / "filler"
        descriptor = os.open(filler, os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(descriptor, bytes(512))
        except OSError:
            yield
        finally:
            os.close(descriptor)
            filler.unlink()


@contextmanager
def full_disk(folder: Path) -> Iterator[FullDisk]:
    """A disk of 1 MB in memory at `folder`; the folder itself where mounting is not allowed."""
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder))
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        yield FullDisk(folder, mounted)
    finally:
        if mounted:
            subprocess.run(("umount", "-l", str(folder)), check=True)
