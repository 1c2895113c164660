"""The terminal from below: finished lines go up for good, one live region stands at the bottom.

Rows are erased one by one: after "clear to the end of the screen" in the top row tmux moves the whole
frame into its scrollback. All output of one change goes out in one write between synchronized-output marks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from limnos.frontends.cli.cells import cut_line, line_width, wrap
from limnos.frontends.cli.spans import Line, painted

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"


class Size(NamedTuple):
    """Columns and rows of a terminal."""

    columns: int
    rows: int


class Live(NamedTuple):
    """The live region: its lines, and the caret as (line, column), both from 0."""

    lines: Sequence[Line] = ()
    caret: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class Screen:
    """Draws on one terminal. `write` takes text and passes it on at once."""

    write: Callable[[str], None]
    size: Callable[[], Size]
    colour: bool
    _drawn: list[int] = field(default_factory=list[int])
    _caret: tuple[int, int] = (0, 0)
    _last: tuple[Live, Size] | None = None

    def update(self, live: Live, above: Sequence[Line] = ()) -> None:
        """Print `above` for good and draw `live` below it. Nothing is written when nothing changed."""
        size = self.size()
        live = _fitting(live, size)
        if not above and self._last == (live, size):
            return
        out = [_BEGIN, _HIDE, self._erase(size)]
        room = size.columns - 1
        wrapped = (piece for row in above for piece in wrap(row, room, "  "))
        out.extend(painted(row, self.colour) + "\r\n" for row in wrapped)
        out.append("\r\n".join(painted(row, self.colour) for row in live.lines))
        out.append(self._place(live))
        out.extend((_SHOW, _END))
        self.write("".join(out))
        self._drawn = [line_width(row) for row in live.lines]
        self._caret, self._last = live.caret, (live, size)

    def clear(self) -> None:
        """Take the live region away; the cursor stands where it began."""
        erased = self._erase(self.size())
        if erased:
            self.write(erased)
        self._drawn, self._caret, self._last = [], (0, 0), None

    def _erase(self, size: Size) -> str:
        """Go to the first row of the region and clear it row by row, counting rows that were rewrapped."""
        if not self._drawn:
            return ""
        heights = [max(1, -(-cells // size.columns)) for cells in self._drawn]
        line, column = self._caret
        below_top = sum(heights[:line]) + min(column, max(0, self._drawn[line])) // size.columns
        total = sum(heights)
        up = f"\x1b[{below_top}A" if below_top else ""
        rows = "\x1b[2K" + "\r\n\x1b[2K" * (total - 1)
        back = f"\x1b[{total - 1}A" if total > 1 else ""
        return f"\r{up}{rows}{back}\r"

    @staticmethod
    def _place(live: Live) -> str:
        line, column = live.caret
        up = len(live.lines) - 1 - line
        return "\r" + (f"\x1b[{up}A" if up > 0 else "") + (f"\x1b[{column}C" if column else "")


def _fitting(live: Live, size: Size) -> Live:
    """No row wider than the screen, never more rows than the screen has minus one."""
    lines = [cut_line(row, size.columns - 1) for row in live.lines] or [()]
    spare = max(0, len(lines) - max(1, size.rows - 1))
    line, column = live.caret
    return Live(lines[spare:], (max(0, line - spare), min(column, size.columns - 1)))
