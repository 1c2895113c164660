"""The last lines of a plugin: what it wrote to standard error, logged, and what limnos noted about it."""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from limnos.kernel.seams import Clock

MOST_LINES: Final = 1000
LONGEST_LINE: Final = 4000  # characters
BYTES_PER_SECOND: Final = 64 * 1024


class Line(NamedTuple):
    """One line. `time` is ISO 8601 in UTC; `source` is stderr, log or limnos."""

    time: str
    source: str
    text: str


class LogRing:
    """Keeps the newest lines; more than 64 KiB a second of standard error are dropped and counted.

    `sink` gets every line that is kept, for a file.
    """

    def __init__(self, clock: Clock, sink: Callable[[Line], object] | None = None) -> None:
        self._clock = clock
        self._sink = sink
        self._lines: deque[Line] = deque(maxlen=MOST_LINES)
        self._rest = b""
        self._second = -1
        self._taken = 0
        self._dropped = 0

    def lines(self, last: int = MOST_LINES) -> list[Line]:
        """The newest lines, oldest first."""
        return list(self._lines)[-last:] if last > 0 else []

    def note(self, text: str) -> None:
        """A line of limnos's own."""
        self._add("limnos", text)

    def log(self, level: str, text: str) -> None:
        """A line that the plugin logged."""
        if self._admits(len(text)):
            self._add("log", f"{level}: {text}")

    def take(self, data: bytes) -> None:
        """Bytes of its standard error."""
        if not self._admits(len(data)):
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-LONGEST_LINE:]
        for line in lines:
            self._add("stderr", line.decode("utf-8", "replace"))

    def _admits(self, size: int) -> bool:
        second = int(self._clock.monotonic())
        if second != self._second:
            dropped, self._second, self._taken, self._dropped = self._dropped, second, 0, 0
            if dropped:
                self.note(f"{dropped:,} bytes dropped: it wrote more than {BYTES_PER_SECOND:,} in a second")
        self._taken += size
        if self._taken <= BYTES_PER_SECOND:
            return True
        self._dropped += size
        return False

    def _add(self, source: str, text: str) -> None:
        line = Line(self._clock.now(), source, text[:LONGEST_LINE])
        self._lines.append(line)
        if self._sink is not None:
            self._sink(line)
