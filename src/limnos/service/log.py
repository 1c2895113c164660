"""The daemon's log: bounded, and the place of whatever anything in the process prints."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from limnos.store.whole import open_to_append

MOST_BYTES: Final = 1_000_000  # of one file; the one before is kept as `.1`


class DaemonLog:
    """Lines with their time. `stdout` and `stderr` of the process lead there too."""

    def __init__(self, path: Path, now: Callable[[], str], streams: tuple[int, ...] = (1, 2)) -> None:
        self._path = path
        self._now = now
        self._streams = streams
        self._open()

    def say(self, text: str) -> None:
        """Add a line; a disk that takes none stops nothing."""
        line = f"{self._now()} {' '.join(text.splitlines())}\n"
        with suppress(OSError):
            if self._path.stat().st_size > MOST_BYTES:
                self._path.replace(self._path.with_name(self._path.name + ".1"))
        if not self._path.exists():
            self._open()
        with suppress(OSError):
            os.write(self._descriptor, line.encode("utf-8", "replace"))

    def _open(self) -> None:
        descriptor = -1
        with suppress(OSError):
            descriptor = open_to_append(self._path)
        if descriptor < 0:
            self._descriptor = self._streams[-1]
            return
        for stream in self._streams:
            os.dup2(descriptor, stream)
        self._descriptor = self._streams[-1]
        os.close(descriptor)


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log and of the one before it, in order."""
    lines: list[str] = []
    for one in (path, path.with_name(path.name + ".1")):
        if len(lines) < count:
            with suppress(OSError):
                text = one.read_text(encoding="utf-8", errors="replace")
                lines = [*text.splitlines(), *lines]
    return lines[-count:] if count else []
