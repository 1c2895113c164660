"""What a person types: messages, and the commands that begin with a slash."""

import difflib
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from limnos.frontends.cli.clipboard import copy
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line, visible
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import counted, thousands, when
from limnos.frontends.cli.transcript import Transcript
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import CallFinished, TurnStarted
from limnos.service.client import Kernel, Open, Send, Session

_LISTED = 10


class Leave(NamedTuple):
    """The chat ends here: with another session to open, or with an exit code."""

    following: Open | None = None
    code: int = 0


@dataclass(slots=True)
class Desk:
    """One open session with everything that typed lines may act on. `write` reaches the terminal."""

    console: Console
    kernel: Kernel
    session: Session
    how: Open
    transcript: Transcript
    write: Callable[[str], None]
    last_input: str = field(default="")

    def send(self, text: str) -> None:
        """Queue a message. Raises LimitError when too many wait."""
        self.last_input = text
        self.session.send(Send(text, uuid.uuid4().hex))

    def inject(self, text: str) -> None:
        """Give a message to the running turn."""
        self.session.inject(Send(text, uuid.uuid4().hex))

    async def enter(self, text: str) -> list[Line] | Leave:
        """Do what a typed line says; the lines to show, or that the chat ends."""
        try:
            if text.startswith("/"):
                return await self._command(text)
            self.send(text)
        except LimnosError as error:
            return error_lines(error)
        return []

    async def _command(self, text: str) -> list[Line] | Leave:
        name, _, argument = text[1:].partition(" ")
        known = _COMMANDS.get(name)
        if known is None:
            near = next(iter(difflib.get_close_matches(name, _COMMANDS, 1)), "help")
            return [line(Span("error:", "bad"), f" no command `/{one_line(name)}`"), line(f"fix: /{near}")]
        return await known.act(self, argument.strip())

    async def help(self, _: str) -> list[Line]:
        """list the commands and keys"""
        rows = [line(f"  {_usage(name, command):<16}{command.help}") for name, command in _COMMANDS.items()]
        return [*rows, line(Span("  " + _KEYS, "dim"))]

    async def quit(self, _: str) -> Leave:
        """end the chat; the session is kept"""
        return Leave()

    async def go_on(self, _: str) -> list[Line]:
        """go on with an interrupted or stopped turn"""
        if self.session.interrupted:
            self.session.resume()
        else:
            self.send("continue")
        return []

    async def show(self, argument: str) -> list[Line]:
        """print the whole result of a call"""
        number = argument.lstrip("#")
        if not number.isdecimal():
            return [line(Span("error:", "bad"), " /show needs a number"), line("fix: /show 15")]
        async for event in self.session.events(int(number) - 1):
            if event.seq == int(number) and isinstance(event, CallFinished):
                return [line("  ", row) for row in visible(event.text).split("\n")]
            break
        return [line(Span("error:", "bad"), f" event {number} is no result of a call"), line("fix: /help")]

    async def drop(self, argument: str) -> list[Line]:
        """take a queued line back"""
        position = int(argument) - 1 if argument.isdecimal() else 0
        dropped = self.session.drop(position)
        if dropped is None:
            return [
                line(Span("error:", "bad"), f" nothing is queued at {position + 1}"),
                line("fix: /drop 1"),
            ]
        return [self.console.look.signed("idle", f"dropped: {one_line(dropped.text)}")]

    async def now(self, argument: str) -> list[Line]:
        """give a line to the running turn at its next step"""
        if not argument:
            return [line(Span("error:", "bad"), " /now needs a text"), line("fix: /now use the other branch")]
        self.inject(argument)
        return []

    async def copy(self, argument: str) -> list[Line]:
        """copy the source text of the last answer, of answer n, or of all"""
        answers = self.transcript.answers
        if not answers:
            return [self.console.look.signed("idle", "no answer to copy yet")]
        if argument == "all":
            text, what = "\n\n".join(answers), counted(len(answers), "answer")
        else:
            number = (
                int(argument) if argument.isdecimal() and 0 < int(argument) <= len(answers) else len(answers)
            )
            text, what = answers[number - 1], f"answer {number}"
        environment = self.console.environment
        path = copy(text, self.write, environment.text("TERM"), environment.home / "run")
        where = f" to {self.console.look.path(str(path))}" if path else ""
        size = counted(len(text), "character")
        return [self.console.look.signed("done", f"copied {what}{where}, {size} of source")]

    async def sessions(self, _: str) -> list[Line]:
        """list the newest sessions"""
        rows = [
            line(
                f"  {one_line(row.id)}  {row.state:<11}  {when(row.updated, self.console.now())}  ",
                one_line(row.title),
            )
            for row in self.kernel.sessions(_LISTED)
        ]
        return [*(self.console.look.cut(row) for row in rows), line("next: limnos open ID")]

    async def context(self, _: str) -> list[Line]:
        """show what fills the window"""
        meter = self.transcript.meter
        if not meter.budget:
            return [self.console.look.signed("idle", "nothing was sent yet")]
        used = f"used {thousands(meter.used)}, {meter.share * 100:.0f} %"
        parts = (f"budget {thousands(meter.budget)}", used, f"reserve {thousands(meter.reserve)}")
        return [line("   ".join(parts))]

    async def model(self, argument: str) -> list[Line] | Leave:
        """show the model, or go on with another"""
        if not argument:
            return [
                line(f"  {one_line(self.transcript.meter.model) or 'no model yet'}"),
                line("next: /model NAME"),
            ]
        return Leave(self.how._replace(session=self.session.id, model=argument))

    async def retry(self, _: str) -> list[Line]:
        """send the last message again"""
        if not self.last_input:
            return [self.console.look.signed("idle", "nothing was sent yet")]
        self.send(self.last_input)
        return []

    def note(self, event: object) -> None:
        """Remember the last input of any client, for /retry."""
        if isinstance(event, TurnStarted):
            self.last_input = event.input


class Slash(NamedTuple):
    """A slash command: what it does, its argument, one line of help."""

    act: Callable[[Desk, str], Awaitable[list[Line] | Leave]]
    argument: str = ""

    @property
    def help(self) -> str:
        """The one line."""
        return self.act.__doc__ or ""


_KEYS = "Enter send or queue  Alt-Enter inject  Ctrl-J new line  Esc stop  Ctrl-D end"
_COMMANDS: dict[str, Slash] = {
    "help": Slash(Desk.help),
    "quit": Slash(Desk.quit),
    "continue": Slash(Desk.go_on),
    "retry": Slash(Desk.retry),
    "now": Slash(Desk.now, "TEXT"),
    "drop": Slash(Desk.drop, "N"),
    "show": Slash(Desk.show, "N"),
    "copy": Slash(Desk.copy, "[N|all]"),
    "context": Slash(Desk.context),
    "model": Slash(Desk.model, "[NAME]"),
    "sessions": Slash(Desk.sessions),
}


def complete(text: str) -> str:
    """The one slash command that `text` is the begin of, with a blank; else `text` as it is."""
    found = [name for name in _COMMANDS if text.startswith("/") and name.startswith(text[1:])]
    return f"/{found[0]} " if len(found) == 1 and " " not in text else text


def error_lines(error: LimnosError) -> list[Line]:
    """An error as its two lines."""
    rows = [line(Span("error:", "bad"), f" {one_line(error.what)}")]
    return [*rows, line(f"fix: {one_line(error.fix)}")] if error.fix else rows


def _usage(name: str, command: Slash) -> str:
    return f"/{name} {command.argument}".rstrip()
