"""Widths in cells of a terminal, cutting and wrapping by them. All text here is free of controls."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from limnos import lazy
from limnos.frontends.cli.spans import Line, Role, Span

# Chinese and Japanese typography: these never begin a line, those never end one.
_NEVER_FIRST = frozenset("，。、；：？！）》」』】〉〕…—,.;:?!)]}%”’")
_NEVER_LAST = frozenset("（《「『【〈〔“‘([{")
_TAB = 4


class _Atom(NamedTuple):
    text: str
    role: Role
    cells: int


def width(text: str) -> int:
    """Cells that `text` takes."""
    return len(text) if text.isascii() else max(0, lazy.wcwidth.wcswidth(text))


def line_width(spans: Iterable[Span]) -> int:
    """Cells that a line takes."""
    return sum(width(span.text) for span in spans)


def graphemes(text: str) -> Iterator[str]:
    """What a person sees as single characters."""
    return iter(text) if text.isascii() else lazy.wcwidth.iter_graphemes(text)


def cut(text: str, cells: int, end: str = "…") -> str:
    """`text`, or as much of it as fits into `cells` together with `end`."""
    if width(text) <= cells:
        return text
    room, kept = cells - width(end), ""
    for grapheme in graphemes(text):
        room -= width(grapheme)
        if room < 0:
            break
        kept += grapheme
    return kept + end if cells >= width(end) else ""


def cut_line(spans: Line, cells: int, end: str = "…") -> Line:
    """A line that takes at most `cells`."""
    if line_width(spans) <= cells:
        return spans
    kept: list[Span] = []
    room = cells
    for span in spans:
        taken = width(span.text)
        if taken > room or (taken == room and span is not spans[-1]):
            kept.append(Span(cut(span.text + end, room, end), span.role))
            break
        kept.append(span)
        room -= taken
    return tuple(kept)


def pad(text: str, cells: int) -> str:
    """`text` followed by blanks up to `cells`."""
    return text + " " * max(0, cells - width(text))


def expand_tabs(text: str) -> str:
    """Tabs as blanks up to the next multiple of four cells."""
    if "\t" not in text:
        return text
    *pieces, last = text.split("\t")
    done = ""
    for piece in pieces:
        done += piece
        done += " " * (_TAB - width(done) % _TAB)
    return done + last


def wrap(spans: Line, cells: int, hanging: str = "") -> list[Line]:
    """Break a line at blanks, and between wide characters, so that no row takes more than `cells`.

    Rows after the first begin with `hanging`. A word longer than a row is broken where the row ends.
    """
    if line_width(spans) <= cells:
        return [spans]
    rows: list[list[_Atom]] = []
    row: list[_Atom] = []
    room, used = max(2, cells), 0
    for atom in _atoms(spans):
        while used + atom.cells > room and row and not atom.text.isspace():
            place = _break_place(row, atom)
            rows.append(row[:place])
            row = row[place:]
            room = max(2, cells - width(hanging))
            used = sum(kept.cells for kept in row)
        row.append(atom)
        used += atom.cells
    rows.append(row)
    return [_join(_stripped(row), hanging if number else "") for number, row in enumerate(rows)]


def fold(spans: Line, cells: int) -> list[Line]:
    """Break a line of code exactly where a row is full; blanks are kept."""
    rows: list[list[_Atom]] = [[]]
    used = 0
    for atom in _atoms(spans):
        if used + atom.cells > max(2, cells):
            rows.append([])
            used = 0
        rows[-1].append(atom)
        used += atom.cells
    return [_join(row, "") for row in rows]


def _atoms(spans: Line) -> Iterator[_Atom]:
    for span in spans:
        for grapheme in graphemes(span.text):
            yield _Atom(grapheme, span.role, width(grapheme))


def _break_place(row: list[_Atom], following: _Atom) -> int:
    after = following
    for place in range(len(row), 0, -1):
        before = row[place - 1]
        if _may_break(before, after):
            return place
        after = before
    return len(row)


def _may_break(before: _Atom, after: _Atom) -> bool:
    if before.text.isspace():
        return True
    wide = before.cells == 2 or after.cells == 2
    return wide and after.text not in _NEVER_FIRST and before.text not in _NEVER_LAST


def _stripped(row: list[_Atom]) -> list[_Atom]:
    end = len(row)
    while end and row[end - 1].text.isspace():
        end -= 1
    return row[:end]


def _join(row: list[_Atom], hanging: str) -> Line:
    spans: list[Span] = [Span(hanging)] if hanging and row else []
    for atom in row:
        if spans and spans[-1].role == atom.role:
            spans[-1] = Span(spans[-1].text + atom.text, atom.role)
        else:
            spans.append(Span(atom.text, atom.role))
    return tuple(spans)
