"""A terminal small enough to be right: prints, line ends, moves, and clearing of one row."""

import re
from dataclasses import dataclass, field

from limnos.frontends.cli.cells import graphemes, width

_TOKEN = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|\r|\n|[^\x1b\r\n]+")


@dataclass
class Glass:
    """`rows` is everything, scrollback included; the cursor can reach the last `height` rows only."""

    columns: int
    height: int
    rows: list[str] = field(default_factory=lambda: [""])
    row: int = 0
    column: int = 0

    def write(self, output: str) -> None:
        """Show what a program sends. Fails on a sequence that it does not know."""
        place = 0
        while place < len(output):
            found = _TOKEN.match(output, place)
            assert found, output[place : place + 20]
            place = found.end()
            if found[0] == "\r":
                self.column = 0
            elif found[0] == "\n":
                self._down()
            elif found[2]:
                self._move(found[1], found[2])
            else:
                self._print(found[0])

    @property
    def shown(self) -> list[str]:
        """All rows without blanks at their ends, up to the last one that holds something."""
        rows = [row.rstrip() for row in self.rows]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def _down(self) -> None:
        self.row += 1
        while self.row >= len(self.rows):
            self.rows.append("")

    def _move(self, parameters: str, final: str) -> None:
        count = int(parameters or 1) if parameters.isdecimal() or not parameters else 0
        if final == "A":
            top = max(0, len(self.rows) - self.height)
            self.row = max(top, self.row - count)
        elif final == "C":
            self.column = min(self.columns - 1, self.column + count)
        elif final == "K":
            assert parameters == "2"
            self.rows[self.row] = ""
        else:
            assert final in "hlm", final

    def _print(self, piece: str) -> None:
        for grapheme in graphemes(piece):
            if self.column + width(grapheme) > self.columns:
                self.column = 0
                self._down()
            row = self.rows[self.row]
            assert width(row) <= self.column or self.column == 0, "text is only written behind text"
            self.rows[self.row] = row + " " * (self.column - width(row)) + grapheme
            self.column += width(grapheme)
