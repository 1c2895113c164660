"""What every command gets: the environment, the terminal, and the two ways out of a program.

Data goes to stdout; progress, questions, summaries and errors go to stderr.
"""

import contextlib
import importlib
import json
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from limnos import __version__
from limnos.agent.settings import Environment
from limnos.frontends.cli.cells import pad, width, wrap
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look, Terminal, error_lines
from limnos.frontends.cli.output import to_stderr, to_stdout
from limnos.frontends.cli.private import without_keys
from limnos.frontends.cli.spans import Line, Span, line, painted
from limnos.kernel.errors import LimnosError, UsageError

_MASKING = "limnos.agent.masking"  # needed by errors only, and no start shall wait for it


@dataclass(slots=True)
class Greeting:
    """The first line of a chat: it begins before the slow imports and is completed after them."""

    _open: bool = False

    def begin(self) -> None:
        """Say the name and the version at once."""
        self._open = True
        self._write(f"limnos {__version__}")

    def complete(self, text: str) -> None:
        """Write the rest of the line, or all of it when nothing was begun."""
        self._write((text if self._open else f"limnos {__version__}{text}") + "\n")
        self._open = False

    def break_off(self) -> None:
        """Something else has to be said: it begins on a line of its own."""
        if self._open:
            self.complete("")

    @staticmethod
    def _write(text: str) -> None:
        to_stderr(text)


@dataclass(frozen=True, slots=True)
class Console:
    """One run of the program. `words` is its command line; an error repeats no key that stands in it."""

    environment: Environment
    terminal: Terminal
    look: Look
    words: Sequence[str] = ()
    greeting: Greeting = field(default_factory=Greeting)

    def data(self, text: str) -> None:
        """Write text to stdout as it is. Raises as `output.to_stdout` does."""
        to_stdout(text)

    def record(self, record: Mapping[str, Any]) -> None:
        """Write one JSON object, one line."""
        self.data(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")

    def show(self, spans: Line) -> None:
        """Print one line for people to stdout."""
        self.data(painted(spans, self.terminal.colour(sys.stdout)) + "\n")

    def say(self, *parts: str | Span) -> None:
        """Print one line to stderr."""
        self.say_line(line(*parts))

    def say_line(self, spans: Line) -> None:
        """Print one line to stderr, wrapped where it is a terminal."""
        self.greeting.break_off()
        colour = self.terminal.colour(sys.stderr)
        rows = wrap(spans, self.look.cells, "  ") if self.terminal.stderr else [spans]
        to_stderr("".join(painted(row, colour) + "\n" for row in rows))

    def done(self, text: str, following: str = "") -> None:
        """Say a new state and what can come next."""
        self.say_line(self.look.signed("done", text, f"  next: {following}" if following else ""))

    def complain(self, what: str, fix: str) -> None:
        """The two lines of an error; the fix is the last."""
        for row in error_lines(self.hide(what), self.hide(fix)):
            self.say_line(row)

    def hide(self, text: str) -> str:
        """`text` without what was typed on the command line and may be a key, and without secrets."""
        masking = importlib.import_module(_MASKING)
        return masking.hide_at_hand(self.environment, without_keys(text, self.words))

    def fail(self, error: LimnosError) -> int:
        """Say an error and return its exit code."""
        self.complain(error.what, error.fix)
        return error.exit_code

    def rows(self, header: Sequence[str], rows: Sequence[Sequence[str]], signs: Sequence[str] = ()) -> None:
        """A list: aligned columns under a dim header for people, tabs and nothing else for programs.

        `signs` are names of signs, one per row, for people only. The last column is free text.
        """
        clean = [[one_line(cell) for cell in row] for row in rows]
        if not self.terminal.columns_for_lists:
            for row in clean:
                self.data("\t".join(row) + "\n")
            return
        widths = [max(width(row[n]) for row in (list(header), *clean)) for n in range(len(header))]
        margin = "  " if signs else ""
        laid = ["  ".join(pad(cell, widths[n]) for n, cell in enumerate(row)).rstrip() for row in clean]
        head = "  ".join(pad(cell, widths[n]) for n, cell in enumerate(header)).rstrip()
        self.show(self.look.cut(line(Span(margin + head, "dim"))))
        for number, text in enumerate(laid):
            spans = self.look.signed(signs[number], text) if signs else line(text)
            self.show(self.look.cut(spans))

    def ask(self, question: str) -> str:
        """One typed line; the question is on stderr, and what was typed before it is thrown away.

        Raises UsageError when nobody can be asked, KeyboardInterrupt when the input ends.
        """
        if not self.terminal.can_ask:
            raise UsageError("nobody can be asked: this is no terminal", "give the answer as an option")
        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        to_stderr(f"{question} ")
        typed = sys.stdin.readline()
        if not typed:
            raise KeyboardInterrupt
        return typed.strip()

    def confirm(self, question: str) -> bool:
        """A yes or no; Enter alone is no."""
        return self.ask(f"{question} [y/N]").casefold() in ("y", "yes")

    def now(self) -> datetime:
        """The present."""
        return datetime.now(UTC)

    @property
    def folder(self) -> str:
        """The folder the program was started in. Raises UsageError when it has been removed since."""
        try:
            return str(Path.cwd())
        except FileNotFoundError:
            fix = "go to a folder that is there"
            raise UsageError("the folder that limnos was started in is gone", fix) from None
