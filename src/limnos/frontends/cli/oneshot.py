"""`limnos run`: one task, one answer. A view of one turn and the person's few words to it."""

import asyncio
import contextlib
import os
import secrets
import signal
import sys
import termios
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from limnos.frontends.cli.approvals import AnswerRow
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.faults import ENDINGS, STOPPING, faults_to, is_unsaved, signals_to
from limnos.frontends.cli.look import continuing_by
from limnos.frontends.cli.output import to_stderr
from limnos.frontends.cli.screen import Live, Screen
from limnos.frontends.cli.spans import Line, is_text, line
from limnos.frontends.cli.starting import NO_FLAGS, Flags
from limnos.frontends.cli.times import counted, duration, money, thousands
from limnos.frontends.cli.transcript import Transcript
from limnos.kernel.approvals import NOBODY
from limnos.kernel.event_records import to_record
from limnos.kernel.events import (
    EXIT_CODES,
    TURN_ENDS,
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    Event,
    ReplyFinished,
    StepFinished,
    TextDelta,
    TurnFinished,
    TurnResumed,
    TurnStarted,
)
from limnos.service.client import Send, Session

_FRAME_SECONDS = 0.1
_CLOSE_SECONDS = 10.0
_LAST_WORD_SECONDS = 1.0


def _is_answer(event: StepFinished) -> bool:
    """Whether this is what was asked for, not a note of ours on how the turn ended."""
    return bool(event.text) and not event.calls and event.finish not in TURN_ENDS


@dataclass(slots=True)
class OneShot:
    """One turn of `session` on this console."""

    console: Console
    session: Session
    as_json: bool
    flags: Flags = NO_FLAGS
    _transcript: Transcript = field(init=False)
    _screen: Screen | None = field(init=False, default=None)
    _row: AnswerRow | None = field(init=False, default=None)
    _typed: bytes = field(init=False, default=b"")
    _stops: int = field(init=False, default=0)
    _hurried: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _fault: BaseException | None = field(init=False, default=None)
    _denied: list[Mapping[str, Any]] = field(init=False, default_factory=list[Mapping[str, Any]])
    _refused: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._transcript = Transcript(self.console.look, chat=False)
        terminal = self.console.terminal
        if terminal.redraws and terminal.stdout and not self.as_json:
            self._screen = Screen(to_stderr, terminal.size, terminal.colour(sys.stderr))

    async def run(self, text: str | None) -> int:
        """Send `text`, or go on with what was interrupted; the exit code of the turn."""
        loop = asyncio.get_running_loop()
        if self.console.terminal.can_ask:
            loop.add_reader(sys.stdin.fileno(), self._read_line)
        ticking = asyncio.create_task(self._tick())
        ticking.add_done_callback(self._ticked)
        client_id = None if text is None and self.session.interrupted else secrets.token_hex(16)
        # it listens before the turn begins: an end that cannot be saved is told only once
        watching = asyncio.create_task(self._watch(client_id, self.session.last_seq))
        try:
            self._begin(text, client_id)
            acts = {signal.SIGINT: self._interrupt, **dict.fromkeys(ENDINGS, self._terminate)}
            with faults_to(self._fail), signals_to(acts):
                finished = await self._end_of(watching)
        finally:
            for task in (ticking, watching):
                task.cancel()
            if self.console.terminal.can_ask:
                loop.remove_reader(sys.stdin.fileno())
        if finished is None:
            self._say(line(f"ended without clean-up; limnos run --continue {self.session.id} goes on"))
            return EXIT_CODES["stopped"]
        self._last_lines(finished)
        return finished.exit

    async def _end_of(self, watching: "asyncio.Task[TurnFinished]") -> TurnFinished | None:
        """The turn's end; None when the person did not wait for it. Raises the fault of a callback."""
        hurried = asyncio.create_task(self._hurried.wait())
        try:
            await asyncio.wait((watching, hurried), return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurried.cancel()
        if self._fault is not None:
            raise self._fault
        if not watching.done():
            await asyncio.wait((watching,), timeout=_LAST_WORD_SECONDS)
        return watching.result() if watching.done() else None

    def _fail(self, fault: BaseException) -> None:
        self._fault = fault
        self._hurried.set()

    def _ticked(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fail(fault)

    def _begin(self, text: str | None, client_id: str | None) -> None:
        if client_id is None:
            self.session.resume()
        else:
            self.session.send(Send(text or "continue", client_id))

    async def _turn_of(self, client_id: str | None, after: int) -> AsyncIterator[Event]:
        """The events of the turn of our message, or without an id of the turns that go on."""
        begun: Event | None = None
        async for event in self.session.events(after):
            if begun is None and self._begins(event, client_id):
                begun = event
            if begun is not None and (client_id is None or event.turn == begun.turn):
                yield event

    def _begins(self, event: Event, client_id: str | None) -> bool:
        """Whether our turn begins here; one whose beginning could not be saved has an end only."""
        match event:
            case TurnStarted():
                return event.client_id == client_id
            case TurnResumed():
                return client_id is None
            case TurnFinished():
                return is_unsaved(self.session, event)
            case _:
                return False

    async def _watch(self, client_id: str | None, after: int) -> TurnFinished:
        async for event in self._turn_of(client_id, after):
            self._show(event)
            if isinstance(event, TurnFinished) and not (client_id is None and event.set_aside):
                return event
        return TurnFinished(
            reason="failed", exit=1, steps=0, calls=0, ms=0, tokens=0,
            message="the session ended before the turn did", fix=f"limnos run --continue {self.session.id}",
        )  # fmt: skip

    async def _tick(self) -> None:
        while self._screen is not None:
            self._draw()
            await asyncio.sleep(_FRAME_SECONDS)

    def _show(self, event: Event) -> None:
        if isinstance(event, CallFinished) and event.outcome == "denied" and not event.agent:
            self._denied.append(event.error or {})
        if isinstance(event, ApprovalAnswered):
            self._refused = event.answer == "no"
        if self.as_json:
            self.console.record(to_record(event))
            self._ask(event)
            return
        exact = not self.console.terminal.stdout
        if exact and isinstance(event, TextDelta):
            return
        rows = self._transcript.apply(event)
        if exact and not isinstance(event, ReplyFinished):
            rows = [row for row in rows if not is_text(row)]
        self._print(rows, exact)
        if exact and isinstance(event, StepFinished) and not event.agent and _is_answer(event):
            self.console.data(event.text if event.text.endswith("\n") else event.text + "\n")
        self._ask(event)

    def _print(self, rows: Sequence[Line], exact: bool = False) -> None:
        if not rows:
            return
        if self._screen:
            self._screen.clear()
        for row in rows:
            (self.console.show if is_text(row) and not exact else self.console.say_line)(row)
        self._draw()

    def _say(self, row: Line) -> None:
        self._print([row])

    def _draw(self) -> None:
        if self._screen and not self._row and not self._transcript.finished:
            rows = self._transcript.live(self.console.now().isoformat())
            self._screen.update(Live((*rows, ()), (len(rows), 0))) if rows else self._screen.clear()

    def _ask(self, event: Event) -> None:
        if isinstance(event, ApprovalAsked) and self.console.terminal.can_ask:
            if self.as_json:
                for row in Transcript(self.console.look, chat=False).apply(event):
                    self.console.say_line(row)
            if self._screen:
                self._screen.clear()
            with contextlib.suppress(termios.error):
                termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
            self._typed = b""
            self._row = AnswerRow(event, time.monotonic())
            self._prompt()

    def _prompt(self) -> None:
        if self._row:
            self.console.say_line(self._row.row(self.console.look, "", 0.0))

    def _read_line(self) -> None:
        data = os.read(sys.stdin.fileno(), 4096)
        if not data:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            return
        *lines, self._typed = (self._typed + data).split(b"\n")
        for text in lines:
            self._heard(text.decode("utf-8", "replace"))

    def _heard(self, text: str) -> None:
        row, now = self._row, time.monotonic()
        if row is None:
            return
        heard = row.hear(self.console.look, text, now) if row.readable(now) else None
        if heard is None:
            if text.strip():
                self.console.say_line(row.refusal(self.console.look, text, now))
            self._prompt()
            return
        for shown in (*heard.rows, *heard.now()):
            self.console.say_line(shown)
        if heard.answer is None:
            self._prompt()
            return
        self._row = None
        self._transcript.working = True
        self.session.answer(row.asked.approval, heard.answer)

    def _interrupt(self) -> None:
        self._stops += 1
        if self._stops == 1:
            self._say(STOPPING)
            asyncio.get_running_loop().call_later(_CLOSE_SECONDS, self._hurried.set)
        else:
            self._hurried.set()
        self._row = None
        self.session.stop("stopped")

    def _terminate(self) -> None:
        self._row = None
        asyncio.get_running_loop().call_later(_CLOSE_SECONDS, self._hurried.set)
        self.session.stop("terminated")

    def _last_lines(self, finished: TurnFinished) -> None:
        if self._screen:
            self._screen.clear()
        match finished.reason:
            case "done":
                if self.console.terminal.stderr and not self.as_json:
                    self.console.say_line(self.console.look.signed("done", _summary(finished)))
            case "stopped":
                self.console.say(f"stopped by you; turn closed, session {self.session.id} kept")
            case "terminated":
                self.console.say(f"terminated; turn closed, session {self.session.id} kept")
            case "denied" if self._refused and self.console.terminal.can_ask:
                text = f"nothing more was done; session {self.session.id} kept"
                following = f"  next: limnos open {self.session.id}"
                self.console.say_line(self.console.look.signed("idle", text, following))
            case _:
                self.console.complain(*self._blame(finished))

    def _blame(self, finished: TurnFinished) -> tuple[str, str]:
        told = next((error for error in self._denied if error.get("detail") != NOBODY.detail), None)
        if finished.reason == "denied" and told is not None:
            return str(told.get("detail")), str(told.get("hint") or finished.fix)
        if finished.reason == "denied" and not self.console.terminal.can_ask:
            calls = counted(len(self._denied), "call")
            verb = "was" if len(self._denied) == 1 else "were"
            why = "stdin is not a terminal" if not self.console.terminal.stdin else "nobody may be asked"
            return (
                f"{calls} {verb} denied because {why}",
                finished.fix or "run it in a terminal, where you can answer",
            )
        what, again = finished.message or finished.reason, f"limnos run --continue {self.session.id}"
        if finished.reason == "limit" and (raised := _raised(self.flags, finished)):
            return what, f"{again} {raised}"
        return what, continuing_by(finished.fix, again) or again


def _raised(flags: Flags, finished: TurnFinished) -> str:
    """The flag whose limit the turn has reached, twice as high; empty when it was a setting's."""
    if flags.steps is not None and finished.steps >= flags.steps:
        return f"--steps {flags.steps * 2}"
    if flags.max_cost and Decimal(finished.cost) >= (most := Decimal(flags.max_cost)):
        return f"--max-cost {most * 2}"
    return ""


def _summary(finished: TurnFinished) -> str:
    parts = (
        f"done in {duration(finished.ms)}",
        counted(finished.steps, "step"),
        counted(finished.calls, "call"),
        f"{thousands(finished.tokens)} tokens",
        money(finished.cost, finished.currency),
    )
    return ", ".join(parts)
