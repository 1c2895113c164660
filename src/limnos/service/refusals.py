"""The record of what was refused at the control socket; bounded, so that nobody can fill a disk with it."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from limnos.store.whole import open_to_append

MOST_BYTES: Final = 1_000_000  # of one file; the one before is kept
_SHOWN: Final = 200


class Refusals:
    """Writes one line for each refusal. A disk that takes none stops nothing."""

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self.count = 0

    def note(self, what: str, pid: int = 0, role: str = "", **more: str) -> None:
        """Write down what was refused, to which process, in which role."""
        self.count += 1
        shown = {name: text[:_SHOWN] for name, text in more.items()}
        line = json.dumps({"time": self._now(), "refused": what, "pid": pid, "role": role, **shown})
        with suppress(OSError):
            if self._path.exists() and self._path.stat().st_size > MOST_BYTES:
                self._path.replace(self._path.with_name(self._path.name + ".1"))
            descriptor = open_to_append(self._path)
            try:
                os.write(descriptor, line.encode() + b"\n")
            finally:
                os.close(descriptor)
