"""The last lines of a plugin: what it wrote to standard error, logged, and what limnos noted about it."""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from limnos.kernel.seams import Clock

MOST_LINES: Final = 1000
LONGEST_LINE: Final = 4000  # characters
BYTES_PER_SECOND: Final = 64 * 1024
LINES_PER_SECOND: Final = 200


class Line(NamedTuple):
    """One line. `time` is ISO 8601 in UTC; `source` is stderr, log or limnos."""

    time: str
    source: str
    text: str


class LogRing:
    """Keeps the newest lines. What a plugin can cause is bounded: 64 KiB and 200 lines a second.

    More is dropped and counted. `sink` gets every line that is kept, for a file.
    """

    def __init__(self, clock: Clock, sink: Callable[[Line], object] | None = None) -> None:
        self._clock = clock
        self._sink = sink
        self._lines: deque[Line] = deque(maxlen=MOST_LINES)
        self._rest = b""
        self._second = -1
        self._taken = 0
        self._said = 0
        self._dropped = 0

    def lines(self, last: int = MOST_LINES) -> list[Line]:
        """The newest lines, oldest first."""
        return list(self._lines)[-last:] if last > 0 else []

    def note(self, text: str) -> None:
        """A line of limnos's own, about a state of the plugin."""
        self._add("limnos", text)

    def complain(self, text: str) -> None:
        """A line of limnos's own about something that the plugin did, as often as it likes."""
        if self._admits(len(text)):
            self._add("limnos", text)

    def log(self, level: str, text: str) -> None:
        """A line that the plugin logged."""
        if self._admits(len(text)):
            self._add("log", f"{level}: {text}")

    def take(self, data: bytes) -> None:
        """Bytes of its standard error."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-LONGEST_LINE:]
        for line in filter(None, lines):
            if self._admits(len(line)):
                self._add("stderr", line.decode("utf-8", "replace"))

    def _admits(self, size: int) -> bool:
        second = int(self._clock.monotonic())
        if second != self._second:
            dropped, self._dropped, self._second, self._taken, self._said = self._dropped, 0, second, 0, 0
            if dropped:
                bounds = f"{BYTES_PER_SECOND:,} bytes or {LINES_PER_SECOND} lines in a second"
                self.note(f"{dropped:,} bytes dropped: it wrote more than {bounds}")
        self._taken += size
        self._said += 1
        if self._taken <= BYTES_PER_SECOND and self._said <= LINES_PER_SECOND:
            return True
        self._dropped += size
        return False

    def _add(self, source: str, text: str) -> None:
        line = Line(self._clock.now(), source, text[:LONGEST_LINE])
        self._lines.append(line)
        if self._sink is not None:
            self._sink(line)
