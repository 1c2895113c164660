"""A unified diff as a question shows it: line numbers, signs, and the number of what is left out."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from limnos.frontends.cli.cells import expand_tabs, fold
from limnos.frontends.cli.escapes import visible
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Role, Span, line
from limnos.frontends.cli.times import counted

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_ROLES: dict[str, Role] = {"+": "ok", "-": "bad"}


class _Row(NamedTuple):
    number: int
    sign: str
    text: str


def is_diff(text: str) -> bool:
    """Whether a preview is a unified diff."""
    return any(_HUNK.match(row) for row in text.split("\n", 8)[:8])


def diff_lines(look: Look, diff: str, limit: int | None) -> list[Line]:
    """The changes, at most `limit` rows; what is left out is named, and `v` shows it."""
    rows = list(_rows(diff))
    shown = rows if limit is None or len(rows) <= limit + 1 else rows[:limit]
    digits = len(str(max((row.number for row in rows), default=1)))
    lines = [piece for row in shown for piece in _drawn(look, row, digits)]
    if len(shown) < len(rows):
        lines.append(line("  ", Span(f"{counted(len(rows) - len(shown), 'more line')}, v shows all", "warn")))
    return lines


def _rows(diff: str) -> Iterator[_Row]:
    old = new = 0
    inside = False
    for row in visible(diff).split("\n"):
        hunk = _HUNK.match(row)
        if hunk:
            old, new, inside = int(hunk[1]), int(hunk[2]), True
        elif inside and row[:1] in ("+", "-", " "):
            yield _Row(old if row[0] == "-" else new, row[0], row[1:])
            old += row[0] != "+"
            new += row[0] != "-"
        elif inside and row.startswith("\\"):
            yield _Row(new, "\\", row[1:].strip())


def _drawn(look: Look, row: _Row, digits: int) -> list[Line]:
    number = f"  {row.number:>{digits + 1}}  "
    text = f"{row.sign} {expand_tabs(row.text)}".rstrip()
    pieces = fold((Span(text, _ROLES.get(row.sign, "")),), look.cells - len(number))
    blank = " " * len(number)
    return [line(blank if place else number, *piece) for place, piece in enumerate(pieces)]
