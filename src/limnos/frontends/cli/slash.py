"""What a person types: messages, and the commands that begin with a slash."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from limnos import lazy
from limnos.frontends.cli.calls import job_line
from limnos.frontends.cli.cells import wrap
from limnos.frontends.cli.clipboard import copy
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line, visible
from limnos.frontends.cli.faults import is_unsaved
from limnos.frontends.cli.look import error_lines
from limnos.frontends.cli.private import refuse_key
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import counted, when
from limnos.frontends.cli.transcript import Transcript
from limnos.frontends.cli.window_lines import cold_lines, window_lines
from limnos.kernel.events import (
    CallFinished,
    Event,
    InputDropped,
    InputInjected,
    TurnFinished,
    TurnResumed,
    TurnStarted,
)
from limnos.service.client import Kernel, OpenRequest, Send, Session

_E = TypeVar("_E", bound=Event)
_LISTED = 10
_RESUMED = "resumed"


class Leave(NamedTuple):
    """The chat ends here: with another session to open, or with an exit code."""

    following: OpenRequest | None = None
    code: int = 0


@dataclass(slots=True)
class Desk:
    """One open session with everything that typed lines may act on. `write` reaches the terminal."""

    console: Console
    kernel: Kernel
    session: Session
    how: OpenRequest
    transcript: Transcript
    write: Callable[[str], None]
    last_input: str = ""
    _taken: set[str] = field(default_factory=set[str])
    _halted: bool = False

    @property
    def resting(self) -> bool:
        """Whether nothing runs and nothing that the session took will begin by itself."""
        return not self.transcript.working and (self._halted or not self._taken)

    def send(self, text: str) -> None:
        """Queue a message. Raises LimitError when too many wait."""
        self.last_input = text
        self._give(self.session.send, text)

    def inject(self, text: str) -> None:
        """Give a message to the running turn. Raises LimitError when none runs and too many wait."""
        self._give(self.session.inject, text)

    def _give(self, take: Callable[[Send], None], text: str) -> None:
        message = Send(text, secrets.token_hex(16))
        take(message)
        self._taken.add(message.client_id)
        self._halted = False

    def stop(self) -> None:
        """Stop the running turn; what waits by then stays in the queue."""
        self._halted = True
        self.session.stop()

    @property
    def waiting(self) -> list[Send]:
        """All inputs that no turn has taken in yet; those given to a running turn are the first."""
        return [*self.session.injected(), *self.session.queued()]

    @property
    def held(self) -> str:
        """What a stop has left in the queue, and the ways on; empty when nothing waits for the person."""
        count = len(self.waiting) if self.resting else 0
        lines = counted(count, "line")
        return f"{lines} queued; /continue goes on, /drop 1 takes back" if count else ""

    def take_back(self, position: int) -> Send | None:
        """The input at `position` (from 0), out of the queue."""
        dropped = self.session.drop(position)
        if dropped is not None:
            self._taken.discard(dropped.client_id)
        return dropped

    def note(self, event: Event) -> None:
        """Keep which inputs the session has begun with, and the last one of any client."""
        match event:
            case TurnStarted():
                self.last_input = event.input
                self._taken.discard(event.client_id)
                self._halted = False
            case InputInjected() | InputDropped():
                self._taken.discard(event.client_id)
            case TurnResumed():
                self._taken.discard(_RESUMED)
            case TurnFinished() if is_unsaved(self.session, event):
                self._halted = True
            case _:
                pass

    async def enter(self, text: str) -> list[Line] | Leave:
        """Do what a typed line says; the lines to show, or that the chat ends. Raises LimnosError."""
        if text.startswith("/"):
            return await self._command(text)
        self.send(text)
        return []

    async def _command(self, text: str) -> list[Line] | Leave:
        name, _, argument = text[1:].partition(" ")
        known = _COMMANDS.get(name)
        if known is None:
            near = next(iter(lazy.difflib.get_close_matches(name, _COMMANDS, 1)), "help")
            return error_lines(f"no command `/{name}`", f"/{near}")
        return await known.act(self, argument.strip())

    async def help(self, _: str) -> list[Line]:
        """list the commands and keys"""
        rows = [line(f"  {_usage(name, command):<20}{command.help}") for name, command in _COMMANDS.items()]
        return [*rows, line(Span("  " + _KEYS, "dim"))]

    async def quit(self, _: str) -> Leave:
        """end the chat; the session is kept"""
        return Leave()

    async def go_on(self, _: str) -> list[Line]:
        """go on with a turn that did not end, or with the queue"""
        if self.session.interrupted:
            self._taken.add(_RESUMED)
        if self.session.interrupted or (self.session.queued() and not self.transcript.working):
            self._halted = False
            self.session.resume()
        elif self.last_input or await self._past(TurnStarted):
            self.send("continue")
        else:
            return [self.console.look.signed("idle", "nothing to continue")]
        return []

    async def show(self, argument: str) -> list[Line]:
        """print the whole result of a call"""
        number = argument.lstrip("#")
        if not number.isdecimal():
            return error_lines("/show needs a number", "/show 15")
        results = {event.seq: event for event in await self._past(CallFinished)}
        found = results.get(int(number))
        if found is not None:
            return [line("  ", row) for row in visible(found.text).split("\n")]
        if not results:
            return error_lines("no call has a result yet", "/help")
        newest = list(results)[-_LISTED:]
        known = f"the newest are {', '.join(map(str, newest))}"
        return error_lines(f"event {number} is no result of a call; {known}", f"/show {newest[-1]}")

    async def _past(self, kind: type[_E]) -> list[_E]:
        """The events of one kind that the session holds."""
        return [event for event in await self.session.history() if isinstance(event, kind)]

    async def drop(self, argument: str) -> list[Line]:
        """take a queued line back"""
        position = int(argument) - 1 if argument.isdecimal() else 0
        dropped = self.take_back(position)
        if dropped is None:
            return error_lines(f"nothing is queued at {position + 1}", "/drop 1")
        return [self.console.look.signed("idle", f"dropped: {one_line(dropped.text)}")]

    async def undo(self, _: str) -> list[Line]:
        """take back the newest change of a file"""
        undone = await self.session.undo()
        if undone is None:
            return [self.console.look.signed("idle", "no change of a file in this session is left to undo")]
        what = "is gone again" if undone.removed else "is as it was before"
        left = f"; {counted(undone.left, 'change')} left" if undone.left else ""
        return [self.console.look.signed("done", f"{one_line(undone.path)} {what}{left}")]

    async def jobs(self, argument: str) -> list[Line]:
        """list the background commands, or end one"""
        verb, _, name = argument.partition(" ")
        if verb == "stop":
            await self.session.stop_job(name.strip())
        elif argument:
            return error_lines(f"/jobs knows no {one_line(argument)}", "/jobs, or /jobs stop job1")
        found = self.session.jobs()
        if not found:
            return [self.console.look.signed("idle", "no job was started in this session")]
        return [
            self.console.look.cut(job_line(self.console.look, job.name, job.command, job.state, job.exit))
            for job in found
        ]

    async def now(self, argument: str) -> list[Line]:
        """give a line to the running turn at its next step"""
        if not argument:
            return error_lines("/now needs a text", "/now use the other branch")
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
            number = int(argument) if argument.isdecimal() else 0 if argument else len(answers)
            if not 0 < number <= len(answers):
                what = f"there is no answer {one_line(argument)}, only {counted(len(answers), 'answer')}"
                return error_lines(what, f"/copy {len(answers)}")
            text, what = answers[number - 1], f"answer {number}"
        environment = self.console.environment
        path = copy(text, self.write, environment.text("TERM"), environment.home / "run")
        where = f" to {self.console.look.path(str(path))}" if path else ""
        size = counted(len(text), "character")
        return [self.console.look.signed("done", f"copied {what}{where}, {size} of source")]

    async def sessions(self, _: str) -> list[Line]:
        """list the newest sessions"""
        look, rows = self.console.look, list[Line]()
        for session in self.kernel.sessions(_LISTED):
            stamp = when(session.updated, self.console.now(), look.zone)
            row = line(f"  {one_line(session.id)}  {session.state:<11}  {stamp}  ", one_line(session.title))
            whole = session.state == "unreadable"  # its title says what to do
            rows += wrap(row, look.cells, "    ") if whole else [look.cut(row)]
        return [*rows, line("next: limnos open ID")]

    async def context(self, _: str) -> list[Line]:
        """show what fills the window"""
        return window_lines(self.console.look, self.session.window())

    async def pin(self, argument: str) -> list[Line]:
        """keep a step in the window, whatever sinks"""
        return self._pinned(argument, pinned=True)

    async def unpin(self, argument: str) -> list[Line]:
        """let a pinned step sink again"""
        return self._pinned(argument, pinned=False)

    async def recall(self, argument: str) -> list[Line]:
        """list what has sunk, look for words in it, or bring steps back"""
        words = argument.replace(",", " ").split()
        numbers = [word.lstrip("#") for word in words]
        if numbers and all(number.isdecimal() for number in numbers):
            await self.session.recall([f"#{number}" for number in numbers])
            return []
        return cold_lines(self.console.look, await self.session.cold(argument), self.console.now())

    def _pinned(self, argument: str, *, pinned: bool) -> list[Line]:
        number = argument.lstrip("#")
        if not number.isdecimal():
            name = "/pin" if pinned else "/unpin"
            return error_lines(f"{name} needs the number of a step", "/context lists them")
        self.session.pin(f"#{number}", pinned=pinned)
        what = "stays in the window" if pinned else "may sink again"
        return [self.console.look.signed("done", f"step {number} {what}")]

    async def model(self, argument: str) -> list[Line] | Leave:
        """show the model, or go on with another"""
        if not argument:
            return [
                line(f"  {one_line(self.transcript.meter.model) or 'no model yet'}"),
                line("next: /model NAME"),
            ]
        refuse_key("the name", argument)
        return Leave(self.how._replace(session=self.session.id, model=argument))

    async def retry(self, _: str) -> list[Line]:
        """send the last message again"""
        if not self.last_input:
            return [self.console.look.signed("idle", "nothing was sent yet")]
        self.send(self.last_input)
        return []


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
    "undo": Slash(Desk.undo),
    "jobs": Slash(Desk.jobs, "[stop NAME]"),
    "copy": Slash(Desk.copy, "[N|all]"),
    "context": Slash(Desk.context),
    "pin": Slash(Desk.pin, "N"),
    "unpin": Slash(Desk.unpin, "N"),
    "recall": Slash(Desk.recall, "[N|WORDS]"),
    "model": Slash(Desk.model, "[NAME]"),
    "sessions": Slash(Desk.sessions),
}


def complete(text: str) -> str:
    """The one slash command that begins with `text`, and a blank; else `text` as it is."""
    found = [name for name in _COMMANDS if text.startswith("/") and name.startswith(text[1:])]
    return f"/{found[0]} " if len(found) == 1 and " " not in text else text


def _usage(name: str, command: Slash) -> str:
    return f"/{name} {command.argument}".rstrip()
