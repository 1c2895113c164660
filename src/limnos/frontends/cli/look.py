"""What this terminal can do and how a person wants to see things, decided once per process."""

import os
import sys
from collections.abc import Callable
from datetime import tzinfo
from typing import NamedTuple, TextIO

from limnos.frontends.cli.cells import cut_line, line_width
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.screen import Size
from limnos.frontends.cli.spans import Line, Role, Span, line

CONTINUE = "/continue"
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_NARROW = 60
_EDGE = 100
_FALLBACK = os.terminal_size((80, 24))


class Signs(NamedTuple):
    """The signs of column 1 and the end of a cut line."""

    you: str = "›"
    done: str = "✓"
    failed: str = "✗"
    idle: str = "-"
    ask: str = "?"
    water: str = "~"
    child: str = "↳"
    cut: str = "…"
    spinner: str = _SPINNER

    def spin(self, seconds: float) -> str:
        """The frame of the spinner after so many seconds; ten a second."""
        return self.spinner[int(seconds * 10) % len(self.spinner)]


ASCII_SIGNS = Signs(you=">", done="+", failed="x", child=">", cut="...", spinner="*")
ROLES: dict[str, Role] = {"you": "accent", "done": "ok", "failed": "bad", "idle": "dim", "ask": "warn"}


class Look(NamedTuple):
    """How lines are made: signs, widths, times. `columns` gives the width at the time of the call."""

    columns: Callable[[], int]
    signs: Signs = Signs()
    home: str = ""
    zone: tzinfo | None = None

    @property
    def cells(self) -> int:
        """Cells that a row may take: the last column stays free."""
        return max(10, self.columns() - 1)

    @property
    def narrow(self) -> bool:
        """Indents instead of labels, no bar."""
        return self.columns() < _NARROW

    def signed(self, sign: str, *parts: str | Span) -> Line:
        """A line that begins with one of our signs in its colour: you, done, failed, idle or ask."""
        return line(Span(getattr(self.signs, sign), ROLES[sign]), " ", *parts)

    def right(self, left: Line, word: str) -> Line:
        """`word` [dim] at the right edge, at most at column 100, or nowhere when there is no room."""
        used = line_width(left)
        gap = max(2, min(self.cells, _EDGE) - used - len(word))
        return line(*left, " " * gap, Span(word, "dim")) if used + gap + len(word) <= self.cells else left

    def cut(self, spans: Line) -> Line:
        """The line, cut to one row."""
        return cut_line(spans, self.cells, self.signs.cut)

    def path(self, path: str) -> str:
        """A path with the home of the person as `~`."""
        inside = self.home and (path == self.home or path.startswith(self.home.rstrip("/") + "/"))
        return "~" + path[len(self.home.rstrip("/")) :] if inside else path


class Terminal(NamedTuple):
    """The three streams: which are terminals, and what may be sent to them."""

    stdin: bool
    stdout: bool
    stderr: bool
    unicode: bool = True
    dumb: bool = False
    no_color: bool = False
    accessible: bool = False
    no_input: bool = False
    plain: bool = False
    columns: int = 0

    @property
    def can_ask(self) -> bool:
        """A person can read a question and answer it."""
        return self.stdin and self.stderr and not self.no_input

    @property
    def redraws(self) -> bool:
        """A live region may stand at the bottom."""
        return self.stderr and self.unicode and not (self.dumb or self.accessible)

    @property
    def columns_for_lists(self) -> bool:
        """Lists for people: a header and aligned columns; otherwise tabs, one record a line."""
        return self.stdout and not self.plain

    def colour(self, stream: TextIO) -> bool:
        """Whether this stream gets colours."""
        return not self.no_color and not self.dumb and stream.isatty()

    def size(self) -> Size:
        """The size now; `COLUMNS` wins over the terminal's own answer."""
        for stream in (sys.__stderr__, sys.__stdout__, sys.__stdin__):
            try:
                found = os.get_terminal_size(stream.fileno()) if stream else _FALLBACK
            except (OSError, ValueError):
                continue
            if found.columns > 0:
                return Size(self.columns or found.columns, found.lines or _FALLBACK.lines)
        return Size(self.columns or _FALLBACK.columns, _FALLBACK.lines)

    def look(self, home: str) -> Look:
        """The way lines look here."""
        return Look(lambda: self.size().columns, Signs() if self.unicode else ASCII_SIGNS, home)


def continuing_by(fix: str, command: str) -> str:
    """`fix` for a place where `command` does what `/continue` does in a chat."""
    return fix.replace(CONTINUE, command)


def error_lines(what: str, fix: str) -> list[Line]:
    """The two lines of an error; the fix is the last."""
    rows = [line(Span("error:", "bad"), f" {one_line(what)}")]
    return [*rows, line(f"fix: {one_line(fix)}")] if fix else rows
