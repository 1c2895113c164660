"""Progress of something whose size is known: a bar that is redrawn, or a line now and then."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.output import to_stderr
from limnos.frontends.cli.spans import Line, line, painted
from limnos.frontends.cli.times import rate, remaining

_BAR = 20
_FIRST_SECONDS = 1.0
_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 10.0
_ESTIMATE_SECONDS = 3.0


def _bar_line(look: Look, done: int, total: int, per_second: float, elapsed: float) -> Line:
    """`  [####....]  452 of 1,117 MB  12 MB/s  about 1 min left`; a narrow window drops from the left."""
    filled = _BAR * done // total if total else 0
    unit, factor = ("MB", 1_000_000) if total >= 1_000_000 else ("kB", 1_000)
    parts = [
        f"[{'#' * filled}{'.' * (_BAR - filled)}]",
        f"{done / factor:,.0f} of {total / factor:,.0f} {unit}",
    ]
    if per_second > 0:
        parts.append(rate(per_second))
        if elapsed >= _ESTIMATE_SECONDS:
            parts.append(remaining((total - done) / per_second))
    order = (0, 2, 1)
    for gone in order:
        if sum(map(len, parts)) + 2 * len(parts) <= look.cells or gone >= len(parts):
            break
        parts[gone] = ""
    return look.cut(line("  ", "  ".join(part for part in parts if part)))


@dataclass(slots=True)
class ProgressLine:
    """The one moving line of a command on stderr."""

    console: Console
    clock: Callable[[], float] = time.monotonic
    _began: float = field(init=False)
    _first: int | None = None
    _shown: float = 0.0
    _drawn: bool = False

    def __post_init__(self) -> None:
        self._began = self.clock()

    def show(self, done: int, total: int) -> None:
        """Take the newest figures; draws after a second, and no more than ten times a second."""
        now = self.clock()
        if self._first is None:
            self._first = done
        elapsed = now - self._began
        redraws = self.console.terminal.redraws
        if elapsed < _FIRST_SECONDS or now - self._shown < (_REDRAW_SECONDS if redraws else _LINE_SECONDS):
            return
        self._shown = now
        shown = _bar_line(self.console.look, done, total, (done - self._first) / elapsed, elapsed)
        if redraws:
            self._drawn = True
            to_stderr("\r\x1b[2K" + painted(shown, colour=False))
        else:
            self.console.say_line(shown)

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            to_stderr("\r\x1b[2K")
            self._drawn = False
