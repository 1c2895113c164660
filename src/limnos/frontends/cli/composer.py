"""The line being written, laid out for the live region: rows, and where the caret stands."""

from limnos.frontends.cli.cells import graphemes, width
from limnos.frontends.cli.editor import Editor
from limnos.frontends.cli.escapes import visible
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line

_MARGIN = 2


def layout(look: Look, editor: Editor, rows: int) -> tuple[list[Line], tuple[int, int]]:
    """At most `rows` rows around the caret, and the caret as (row, column)."""
    room = look.cells - _MARGIN
    before = _filled([""], visible(editor.shown(editor.text[: editor.caret])), room)
    at = (len(before) - 1, width(before[-1]))
    whole = _filled(before, visible(editor.shown(editor.text[editor.caret :])), room)
    if at[1] >= room:
        whole.insert(at[0] + 1, "")
        at = (at[0] + 1, 0)
    first = min(max(0, at[0] - rows + 1), max(0, len(whole) - rows))
    shown = whole[first : first + rows]
    drawn = [line(_margin(look, first + place), text) for place, text in enumerate(shown)]
    return drawn, (at[0] - first, at[1] + _MARGIN)


def _margin(look: Look, place: int) -> Span:
    return Span(f"{look.signs.you} ", "accent") if place == 0 else Span("  ")


def _filled(rows: list[str], text: str, room: int) -> list[str]:
    """`rows` with `text` written on, a new row where one is full or a line ends."""
    rows = list(rows)
    for place, piece in enumerate(text.split("\n")):
        if place:
            rows.append("")
        used = width(rows[-1])
        for grapheme in graphemes(piece.replace("\t", "    ")):
            cells = width(grapheme)
            if used + cells > room:
                rows.append("")
                used = 0
            rows[-1] += grapheme
            used += cells
    return rows
