"""Bounded log files: lines are added until a file is full, then it is kept as the one before."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from limnos.store.whole import open_to_append, private_folder

MOST_BYTES: Final = 1_000_000  # of one file; the one before is kept as `.1`


def add_line(path: Path, line: str) -> None:
    """Add one line; a disk that takes none stops nothing."""
    with suppress(OSError):
        private_folder(path.parent)
        descriptor = open_to_append(path)
        try:
            os.write(descriptor, f"{' '.join(line.splitlines())}\n".encode("utf-8", "replace"))
            full = os.fstat(descriptor).st_size > MOST_BYTES
        finally:
            os.close(descriptor)
        if full:
            path.replace(before(path))


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log and of the one before it, oldest first."""
    lines: list[str] = []
    for one in (path, before(path)):
        if len(lines) < count:
            with suppress(OSError):
                lines = [*one.read_text(encoding="utf-8", errors="replace").splitlines(), *lines]
    return lines[-count:] if count > 0 else []


def before(path: Path) -> Path:
    """Where the log is kept that was full."""
    return path.with_name(path.name + ".1")
