"""The chat where nothing may be redrawn: dumb terminals, pipes, screen readers. Whole lines in and out."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from limnos.frontends.cli.accessible import FIRST_LINE, LETTERS, STILL_SECONDS, Speaker, not_offered
from limnos.frontends.cli.approvals import AnswerRow
from limnos.frontends.cli.faults import ENDINGS, STOPPING, faults_to, is_unsaved, signals_to
from limnos.frontends.cli.look import error_lines
from limnos.frontends.cli.output import to_stderr
from limnos.frontends.cli.piped import LONGEST, piped_text, too_long
from limnos.frontends.cli.slash import Desk, Leave
from limnos.frontends.cli.spans import Line, is_text, line, plain
from limnos.frontends.cli.times import counted
from limnos.kernel.errors import LimitError, LimnosError
from limnos.kernel.events import EXIT_CODES, ApprovalAsked, Event, TurnFinished, TurnStarted

_PROGRESS_SECONDS = 10
_MOST_WAITING = 1000  # lines; a program that writes faster than they are answered waits


@dataclass(slots=True)
class LineChat:
    """One open session, read and written in whole lines."""

    desk: Desk
    accessible: bool
    row: AnswerRow | None = None
    _speaker: Speaker = field(default_factory=Speaker)
    _left: "asyncio.Future[Leave] | None" = None
    _typed: bytes = b""
    _ended: bool = False
    _paused: bool = False
    _stopping: bool = False
    _at_prompt: bool = False
    _busy: bool = False
    _inputs: "asyncio.Queue[str]" = field(default_factory=asyncio.Queue[str])
    _room: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def _can_ask(self) -> bool:
        return self.desk.console.terminal.can_ask

    async def run(self) -> Leave:
        """Until the person leaves or the input ends and everything is answered."""
        loop = asyncio.get_running_loop()
        self._left = loop.create_future()
        after = self.desk.session.last_seq
        if self.accessible:
            self._show([line(FIRST_LINE)])
        reading = self._start_reading(loop)
        tasks = [asyncio.create_task(work) for work in (self._watch(after), self._progress(), self._obey())]
        for task in tasks:
            task.add_done_callback(self._done)
        self._prompt()
        try:
            acts = {signal.SIGINT: self._interrupt, **dict.fromkeys(ENDINGS, self._terminate)}
            with faults_to(self._fail), signals_to(acts):
                return await self._left
        finally:
            if reading:
                loop.remove_reader(sys.stdin.fileno())
            for task in tasks:
                task.cancel()

    def _start_reading(self, loop: asyncio.AbstractEventLoop) -> bool:
        try:
            loop.add_reader(sys.stdin.fileno(), self._readable)
        except PermissionError:  # a regular file is always readable, and epoll refuses it
            for text in piped_text(self.desk.console).splitlines():
                self._inputs.put_nowait(text)
            self._ended = True
            loop.call_soon(self._maybe_end)
            return False
        return True

    def _readable(self) -> None:
        data = os.read(sys.stdin.fileno(), 65_536)
        *lines, self._typed = (self._typed + data).split(b"\n")
        if len(self._typed) > LONGEST:
            raise too_long()
        if not data:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._ended = True
            lines = [self._typed] if self._typed else []
        for text in lines:
            self._inputs.put_nowait(text.decode("utf-8", "replace"))
        if self._inputs.qsize() > _MOST_WAITING and not self._ended:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self._paused = True
        self._maybe_end()

    async def _next_input(self) -> str:
        text = await self._inputs.get()
        if self._paused and self._inputs.qsize() <= _MOST_WAITING:
            self._paused = False
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._readable)
        return text

    async def _obey(self) -> None:
        while True:
            text = await self._next_input()
            self._at_prompt, self._busy = False, True
            outcome = None if self._answer(text) or not text.strip() else await self._enter(text)
            self._busy = False
            if isinstance(outcome, Leave):
                self._leave(outcome)
            elif outcome:
                self._show(outcome)
            if self.row or self.desk.resting:
                self._prompt()
            self._maybe_end()

    async def _enter(self, text: str) -> list[Line] | Leave:
        """Do what a line says. A program's line waits for room in the queue, a person is told."""
        while True:
            self._room.clear()
            try:
                return await self.desk.enter(text)
            except LimnosError as error:
                if self._can_ask or not isinstance(error, LimitError):
                    return error_lines(error.what, error.fix)
            await self._room.wait()

    def _answer(self, text: str) -> bool:
        """Whether a line answered the open question; menus by number count in accessible mode."""
        row = self.row
        if row is None or not (text.strip() or row.editing):
            return False
        word = text.strip()
        if self.accessible and not (row.choosing or row.editing):
            word = f"n: {word[2:]}" if word.startswith("5 ") else LETTERS.get(word, word)
        heard = row.hear(self.desk.console.look, word, time.monotonic())
        if heard is None:
            return False
        if heard.slip and self.accessible and not row.choosing:
            self._show([line(not_offered(row.asked))])
            return True
        self._show([*heard.rows, *heard.now()])
        if row.editing and self.accessible:
            self._show([row.row(self.desk.console.look, "", 0.0)])
        if heard.answer is not None:
            self.row = None
            self.desk.session.answer(row.asked.approval, heard.answer)
        return True

    async def _watch(self, after: int) -> None:
        try:
            async for event in self.desk.session.events(after):
                self._hear(event)
        except LimnosError as error:
            self._show(error_lines(error.what, error.fix))

    def _hear(self, event: Event) -> None:
        self.desk.note(event)
        rows = self.desk.transcript.apply(event)
        self._show([line(text) for text in self._speaker.lines(event)] if self.accessible else rows)
        if isinstance(event, ApprovalAsked):
            self.row = AnswerRow(event, time.monotonic())
        elif self.desk.transcript.question is None:
            self.row = None
        if isinstance(event, ApprovalAsked | TurnFinished):
            self._stopping = False
            if isinstance(event, TurnFinished) and not self._can_ask:
                self._give_up(event)
            if self.row or self.desk.resting:
                self._prompt()
            self._maybe_end()
        elif isinstance(event, TurnStarted):
            self._room.set()

    async def _progress(self) -> None:
        seconds = STILL_SECONDS if self.accessible else _PROGRESS_SECONDS
        while True:
            await asyncio.sleep(seconds)
            transcript = self.desk.transcript
            if not transcript.working or transcript.question:
                continue
            if self.accessible:
                self._show([line(f"limnos: still working, {seconds} seconds more.")])
            else:
                moving = transcript.live(self.desk.console.now().isoformat())
                self._show([row for row in moving if not is_text(row)][-1:])

    def _show(self, rows: Sequence[Line]) -> None:
        console = self.desk.console
        if rows and self._at_prompt:
            self._at_prompt = False
            console.say("")
        for row in rows:
            (console.show if is_text(row) or self.accessible else console.say_line)(row)

    def _prompt(self) -> None:
        if not self._can_ask:
            return
        waiting = len(self.desk.waiting)
        if self.row and self.accessible and waiting:
            to_stderr(f"limnos: {counted(waiting, 'line')} queued; answer with a number.\n")
        elif self.row and not self.accessible:
            rows = [self.row.queued_row(self.desk.console.look, waiting)] if waiting else []
            for row in (*rows, self.row.row(self.desk.console.look, "", 0.0)):
                to_stderr(plain(row) + "\n")
        elif held := self.desk.held:
            to_stderr(f"limnos: {held}.\n" if self.accessible else f"{held}\n")
        self._at_prompt = True
        label = "answer: " if self.row else "you: "
        to_stderr(label if self.accessible else f"{self.desk.console.look.signs.you} ")

    def _interrupt(self) -> None:
        if self.desk.transcript.working and not self._stopping:
            self._stopping = True
            self._show([STOPPING])
            self.desk.stop()
        else:
            self._leave(Leave(code=EXIT_CODES["stopped"]))

    def _terminate(self) -> None:
        self.desk.session.stop("terminated")
        self._leave(Leave(code=EXIT_CODES["terminated"]))

    def _done(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fail(fault)

    def _fail(self, fault: BaseException) -> None:
        if self._left and not self._left.done():
            self._left.set_exception(fault)

    def _give_up(self, finished: TurnFinished) -> None:
        """Leave when nobody can go on with the queue that a stop, or a disk that keeps nothing, has left."""
        if is_unsaved(self.desk.session, finished) or finished.reason == "stopped":
            self._leave(Leave(code=finished.exit))

    def _maybe_end(self) -> None:
        if self._ended and self._inputs.empty() and not self._busy and self.desk.resting:
            self._leave(Leave())

    def _leave(self, leave: Leave) -> None:
        if self._left and not self._left.done():
            self._left.set_result(leave)
