"""The chat: finished blocks go up for good; calls, queue, question row, composer and meter stand below.

Keys are drawn at once, the stream at most thirty times a second.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from limnos.frontends.cli.approvals import AnswerRow
from limnos.frontends.cli.composer import layout
from limnos.frontends.cli.editor import Editor
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.faults import ENDINGS, STOPPING, faults_to, signals_to
from limnos.frontends.cli.keys import Decoder, Key
from limnos.frontends.cli.look import error_lines
from limnos.frontends.cli.screen import Live, Screen
from limnos.frontends.cli.slash import Desk, Leave, complete
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.tty import RawTerminal
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import EXIT_CODES, Event, TurnStarted

_STREAM_SECONDS = 1 / 30
_SPINNER_SECONDS = 0.1
_SHOWN_TURNS = 3
_SHOWN_QUEUE = 4  # rows
_KEPT = line(Span("  your line is kept below", "dim"))


@dataclass(slots=True)
class Chat:
    """One open session on a terminal that can be redrawn. `seen`: what it holds stands above already."""

    desk: Desk
    terminal: RawTerminal
    screen: Screen
    seen: bool = False
    editor: Editor = field(default_factory=Editor)
    row: AnswerRow | None = None
    _decoder: Decoder = field(default_factory=Decoder)
    _left: "asyncio.Future[Leave] | None" = None
    _flush: asyncio.TimerHandle | None = None
    _frame: asyncio.TimerHandle | None = None
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])
    _stopping: bool = False

    async def run(self) -> Leave:
        """Until the person leaves."""
        loop = asyncio.get_running_loop()
        self._left = loop.create_future()
        past = await self.desk.session.history(settled=True)
        rows = self._history(past)
        self.print(() if self.seen else rows)
        loop.add_reader(self.terminal.descriptor, self._readable)
        self._start(self._watch(max((event.seq for event in past), default=0)))
        self._start(self._spin())
        try:
            with faults_to(self._fail), signals_to(self._signals()):
                return await self._left
        finally:
            loop.remove_reader(self.terminal.descriptor)
            for task in self._tasks:
                task.cancel()
            self.screen.clear()

    def print(self, rows: Sequence[Line]) -> None:
        """Print rows for good and draw the live region below them."""
        if self._frame:
            self._frame.cancel()
            self._frame = None
        self.screen.update(self._live(), rows)

    def hear(self, event: Event) -> None:
        """Take one event of the session."""
        desk = self.desk
        if isinstance(event, TurnStarted):
            self.editor.remember(event.input)
        desk.note(event)
        rows = desk.transcript.apply(event)
        self._stopping = self._stopping and desk.transcript.working
        question = desk.transcript.question
        if question is not (self.row.asked if self.row else None):
            self.row = AnswerRow(question, time.monotonic()) if question else None
            self.print(rows)
        elif rows:
            self.print(rows)
        elif self._frame is None:
            self._frame = asyncio.get_running_loop().call_later(_STREAM_SECONDS, self.print, ())

    def press(self, key: Key) -> None:
        """Take one key."""
        act = _KEYS.get(key.name)
        if act is not None:
            act(self)
        else:
            self.editor.press(key, time.monotonic())
        if self.row and not self.editor.text:
            self.row.editing = False
        self.print(())

    def leave(self, leave: Leave) -> None:
        """End the chat."""
        if self._left and not self._left.done():
            self._left.set_result(leave)

    def stop(self) -> None:
        """Stop the running turn; a second time ends the program without clean-up."""
        if self._stopping:
            self.desk.stop()
            self.leave(Leave(code=EXIT_CODES["stopped"]))
        elif self.desk.transcript.working:
            self._stopping = True
            self.print([STOPPING])
            self.desk.stop()

    def escape(self) -> None:
        """Stop the turn once; Esc never ends the program."""
        if not self._stopping:
            self.stop()

    def interrupt(self) -> None:
        """Ctrl-C: stop, or throw the line away, or say how to leave."""
        if self._stopping or self.desk.transcript.working:
            self.stop()
        elif self.editor.text:
            self.editor.set("", 0.0)
        else:
            self.print([line(Span("  Ctrl-D or /quit ends the chat; the session is kept", "dim"))])

    def end(self) -> None:
        """Ctrl-D on an empty line leaves."""
        if not self.editor.text:
            self.leave(Leave())
        else:
            self.editor.delete_after()

    def enter(self) -> None:
        """Enter: a new line after a backslash, an answer to the question, or a message."""
        if self.editor.continues:
            self.editor.break_line()
            return
        text = self.editor.expanded()
        if not text.strip() or self._answer(text):
            return
        if text.startswith("/"):
            self.editor.take()
            self._start(self._command(text))
        else:
            self._give(self.desk.send, text)

    def inject(self) -> None:
        """Alt-Enter: the line goes to the running turn."""
        text = self.editor.expanded()
        if text.strip():
            self._give(self.desk.inject, text)

    def deny(self) -> None:
        """Alt-N: no, whatever stands in the composer."""
        self._answer_now("no")

    def allow(self) -> None:
        """Alt-Y: once, whatever stands in the composer."""
        self._answer_now("once")

    def _answer_now(self, verdict: Literal["no", "once"]) -> None:
        if self.row is None:
            return
        heard = self.row.press(self.desk.console.look, verdict, time.monotonic())
        self.print(heard.rows)
        if heard.answer is not None:
            self.desk.session.answer(self.row.asked.approval, heard.answer)

    def up(self) -> None:
        """Up on an empty line edits the last queued message."""
        queued = self.desk.session.queued()
        if queued and not self.editor.text:
            self.desk.take_back(len(queued) - 1)
            self.editor.set(queued[-1].text, time.monotonic())
        else:
            self.editor.press(Key("up"), time.monotonic())

    def tab(self) -> None:
        """Complete a slash command."""
        self.editor.set(complete(self.editor.text), self.editor.begun)

    def suspend(self) -> None:
        """Ctrl-Z."""
        self.screen.clear()
        self.terminal.suspend()

    def _answer(self, text: str) -> bool:
        """Whether `text` was an answer to the open question."""
        heard = self.row.hear(self.desk.console.look, text, self.editor.begun) if self.row else None
        if self.row is None or heard is None:
            return False
        self.editor.take()
        self.print(heard.rows)
        if heard.fill is not None:
            self.editor.set(heard.fill, time.monotonic())
        if heard.answer is not None:
            self.desk.session.answer(self.row.asked.approval, heard.answer)
        return True

    def _give(self, give: Callable[[str], None], text: str) -> None:
        """Hand the line over; one that is refused stays in the composer."""
        try:
            give(text)
        except LimnosError as error:
            self.print([*error_lines(error.what, error.fix), _KEPT])
        else:
            self.editor.take()

    async def _command(self, text: str) -> None:
        try:
            outcome = await self.desk.enter(text)
        except LimnosError as error:
            if not self.editor.text:
                self.editor.set(text, time.monotonic())
            self.print(error_lines(error.what, error.fix))
            return
        if isinstance(outcome, Leave):
            self.leave(outcome)
        elif outcome:
            self.print([self.desk.console.look.signed("you", one_line(text)), *outcome])

    async def _watch(self, after: int) -> None:
        try:
            async for event in self.desk.session.events(after):
                self.hear(event)
        except LimnosError as error:
            self.print(error_lines(error.what, error.fix))

    async def _spin(self) -> None:
        while True:
            await asyncio.sleep(_SPINNER_SECONDS)
            if self.desk.transcript.working and self._frame is None:
                self.print(())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._fail(fault)

    def _fail(self, fault: BaseException) -> None:
        """A fault of ours ends the chat: the terminal is given back, then it is reported."""
        if self._left and not self._left.done():
            self._left.set_exception(fault)

    def _signals(self) -> dict[signal.Signals, Callable[[], None]]:
        return {
            signal.SIGWINCH: lambda: self.print(()),
            signal.SIGINT: self.interrupt,
            **dict.fromkeys(ENDINGS, self._terminate),
        }

    def _terminate(self) -> None:
        self.desk.session.stop("terminated")
        self.leave(Leave(code=EXIT_CODES["terminated"]))

    def _readable(self) -> None:
        data = self.terminal.read()
        if self._flush:
            self._flush.cancel()
            self._flush = None
        if not data:
            self.leave(Leave())
            return
        for key in self._decoder.feed(data):
            self.press(key)
        waits = self._decoder.waits
        if waits is not None:
            self._flush = asyncio.get_running_loop().call_later(waits, self._give_up)

    def _give_up(self) -> None:
        for key in self._decoder.flush():
            self.press(key)

    def _history(self, past: Sequence[Event]) -> list[Line]:
        begins = [place for place, event in enumerate(past) if isinstance(event, TurnStarted)]
        earlier = max(0, len(begins) - _SHOWN_TURNS)
        rows: list[Line] = []
        for place, event in enumerate(past):
            new = self.desk.transcript.apply(event)
            if isinstance(event, TurnStarted):
                self.editor.remember(event.input)
            self.desk.note(event)
            if not begins or place >= begins[earlier]:
                rows += new
        self.desk.transcript.rest()
        if earlier:
            text = f"{earlier} earlier turns  next: limnos replay {self.desk.session.id}"
            rows.insert(0, line(Span(text, "dim")))
        if self.desk.session.interrupted:
            rows.append(
                self.desk.console.look.signed("ask", "the last turn was interrupted  next: /continue")
            )
        return rows

    def _live(self) -> Live:
        desk, size = self.desk, self.screen.size()
        composer, (row, column) = layout(desk.console.look, self.editor, max(1, size.rows // 2))
        above = [*self._queue(), *self._answer_row()]
        bottom = [*above, *composer, desk.transcript.meter.row(desk.console.look)]
        room = max(0, size.rows - 1 - len(bottom))
        moving = desk.transcript.live(desk.console.now().isoformat())
        moving = moving[len(moving) - room :] if len(moving) > room else moving
        return Live([*moving, *bottom], (len(moving) + len(above) + row, column))

    def _answer_row(self) -> list[Line]:
        if self.row is None:
            return []
        return [self.row.row(self.desk.console.look, self.editor.text, self.editor.begun)]

    def _queue(self) -> list[Line]:
        look, desk = self.desk.console.look, self.desk
        if not (desk.transcript.working or desk.held):
            return []
        now = desk.session.injected() if desk.transcript.working else []
        injected = [(f"now: {one_line(sent.text)}", "taken in at the next step") for sent in now]
        queued = [
            (f"queued {place}  {one_line(sent.text)}", f"Up edits, /drop {place}")
            for place, sent in enumerate(desk.waiting[len(now) :], 1)
        ]
        waiting = [*injected, *queued]
        if self.row:
            return [self.row.queued_row(look, len(waiting))] if waiting else []
        shown = waiting if len(waiting) <= _SHOWN_QUEUE else waiting[: _SHOWN_QUEUE - 1]
        rows = [look.right(look.cut(look.signed("you", text)), word) for text, word in shown]
        if len(shown) < len(waiting):
            rows.append(look.signed("you", f"queued  {len(waiting) - len(shown)} more"))
        return [*rows, look.cut(look.signed("ask", desk.held))] if desk.held else rows


_KEYS: dict[str, Callable[[Chat], None]] = {
    "enter": Chat.enter,
    "alt-enter": Chat.inject,
    "escape": Chat.escape,
    "ctrl-c": Chat.interrupt,
    "ctrl-d": Chat.end,
    "ctrl-z": Chat.suspend,
    "up": Chat.up,
    "tab": Chat.tab,
    "alt-n": Chat.deny,
    "alt-y": Chat.allow,
}
