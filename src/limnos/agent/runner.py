"""One open session: its queue, its running turn, its open questions, and who listens."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sized
from functools import reduce
from typing import NamedTuple

from limnos.agent.edit_history import Undone
from limnos.agent.session_jobs import Listed, SessionJobs
from limnos.kernel.cancel import Cancel, StopReason
from limnos.kernel.errors import LimitError, StorageError, UsageError
from limnos.kernel.events import EXIT_CODES, Event, InputInjected, StepFinished, TurnFinished, TurnStarted
from limnos.kernel.limits import Meter
from limnos.kernel.loop import Loop
from limnos.kernel.recovery import close_open_calls, resume
from limnos.kernel.seams import Answer, Principal, Question, parse_principal
from limnos.kernel.stream import EventStream
from limnos.kernel.turn import Turn

MAX_QUEUE = 256
MAX_INPUT = 1_000_000  # characters


class Input(NamedTuple):
    """One input; a repeated `client_id` is answered once."""

    text: str
    client_id: str
    source: str
    principal: str


class OpenQuestions:
    """The questions that wait for the person. Implements `kernel.seams.Approver`."""

    def __init__(self, expire_seconds: float) -> None:
        self._expire_seconds = expire_seconds
        self._open: dict[str, asyncio.Future[Answer]] = {}

    async def ask(self, question: Question) -> Answer:
        """Wait for `answer`; raises TimeoutError when nobody comes."""
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._open[question.approval] = waiting
        try:
            async with asyncio.timeout(self._expire_seconds):
                return await waiting
        finally:
            del self._open[question.approval]

    def answer(self, approval: str, answer: Answer) -> bool:
        """Settle an open question; False when it is not open any more."""
        waiting = self._open.get(approval)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(answer)
        return True


class Fittings(NamedTuple):
    """What a runner needs beside the stream; made by `agent.build`.

    `meter` makes the meter of one turn, `finish` gives back what the session holds (the log and its lock).
    """

    loop: Loop
    questions: OpenQuestions
    new_turn: Callable[[], None]
    names_in: Callable[[str], list[str]]
    meter: Callable[[], Meter]
    history: Callable[[int], list[Event]]
    finish: Callable[[], None]
    jobs: SessionJobs
    undo: Callable[[], Undone | None]
    persona: str
    model: str
    mode: str
    attended: bool
    trusted: bool
    grace_seconds: float


class _Ended:
    """The last thing a listener hears; with the fault that ended the session, if one did."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.fault = fault


class Runner:
    """Takes inputs, runs one turn at a time, tells everybody what happens."""

    def __init__(self, stream: EventStream, fittings: Fittings) -> None:
        self.stream = stream
        self._fit = fittings
        self._queue: deque[Input] = deque()
        self._turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self._readers: set[asyncio.Queue[Event | _Ended]] = set()
        self._closed = False
        self._after_stop: set[str] = set()
        stream.listen(self._tell)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def interrupted(self) -> bool:
        """Whether the last turn has no end yet and nothing runs."""
        return self.stream.conversation.turn_open and self._idle

    @property
    def waiting(self) -> list[Input]:
        """The queued inputs, in order."""
        return list(self._queue)

    @property
    def injected(self) -> list[Input]:
        """The injected inputs that the running turn has not taken in yet, in order."""
        return [_input(one) for one in self._turn.inbox] if self._turn else []

    def submit(self, given: Input) -> None:
        """Queue an input.

        Raises LimitError when 256 wait already, UsageError after `close` and for more than 1,000,000
        characters.
        """
        if self._admits(given, self._queue):
            self._queue.append(given)
        elif all(one.client_id != given.client_id for one in self._queue):
            return
        self._wake()

    def inject(self, given: Input) -> None:
        """Hand an input to the running turn at its next step; without one, queue it. Raises as `submit`."""
        if self._turn is None:
            self.submit(given)
        elif self._admits(given, self._turn.inbox):
            self._turn.inbox.append(
                InputInjected(
                    input=given.text,
                    source=given.source,
                    principal=given.principal,
                    client_id=given.client_id,
                    names=self._fit.names_in(given.text),
                )
            )

    def _admits(self, given: Input, waiting: Sized) -> bool:
        """Whether an input is new; raises when it cannot be taken."""
        if self._closed:
            raise UsageError(f"session {self.stream.session} is closed", f"limnos open {self.stream.session}")
        if len(given.text) > MAX_INPUT:
            raise UsageError(
                f"the input has {len(given.text)} characters, more than {MAX_INPUT}",
                "put it into a file and name the file",
            )
        if self._is_known(given):
            return False
        if len(waiting) >= MAX_QUEUE:
            raise LimitError(
                f"{MAX_QUEUE} inputs are waiting already", "wait for the running turn, or /drop some"
            )
        if self._turn is not None and self._turn.cancel.reason is not None:
            self._after_stop.add(given.client_id)
        return True

    def drop(self, position: int) -> Input | None:
        """Take an input out of the queue."""
        if not 0 <= position < len(self._queue):
            return None
        given = self._queue[position]
        del self._queue[position]
        return given

    def stop(self, reason: StopReason) -> None:
        """Stop the running turn; what waits by then is kept until the next input or `resume`."""
        if self._turn is not None:
            self._turn.cancel.request(reason)

    def resume(self, source: str) -> None:
        """Continue the interrupted turn, or else go on with the queue that a stop or a full disk left."""
        if self.interrupted:
            self._wake(resumed_by=source)
        elif self._queue:
            self._wake()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an open question."""
        return self._fit.questions.answer(approval, answer)

    def jobs(self) -> list[Listed]:
        """The background commands of this session, in order."""
        return self._fit.jobs.listed()

    async def stop_job(self, name: str) -> None:
        """End a background command. Raises UsageError when there is none of that name."""
        await self._fit.jobs.stop(name)

    async def undo(self) -> Undone | None:
        """Take back the newest change of a file, if one is left.

        Raises UsageError while a turn runs, and UndoError.
        """
        if self._turn is not None:
            raise UsageError("a turn runs, and may change files itself", "stop it with Esc, then /undo")
        return await asyncio.to_thread(self._fit.undo)

    async def events(self, after: int) -> AsyncIterator[Event]:
        """The persisted events above `after`, then live ones, each once and in order."""
        inbox: asyncio.Queue[Event | _Ended] = asyncio.Queue()
        if self._closed:
            inbox.put_nowait(_Ended())
        self._readers.add(inbox)
        last = after
        try:
            behind = after < self.stream.conversation.last_seq
            for event in self._fit.history(after) if behind else ():
                last = event.seq
                yield event
            while True:
                item = await inbox.get()
                if isinstance(item, _Ended):
                    if item.fault is not None:
                        raise item.fault
                    return
                if item.seq > last:
                    last = item.seq
                    yield item
        finally:
            self._readers.discard(inbox)

    async def close(self) -> None:
        """Stop what runs, within the grace time, and give everything back; may be called twice."""
        if self._closed:
            return
        self._closed = True
        self._queue.clear()
        if self._turn is not None and self._turn.cancel.reason is None:
            self.stop("terminated")
        if (task := self._task) is not None:
            await asyncio.wait({task}, timeout=self._fit.grace_seconds * 2)
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=self._fit.grace_seconds + 1)
        await self._fit.jobs.close()
        self._end(None)
        self._fit.finish()

    def _is_known(self, given: Input) -> bool:
        waiting = {one.client_id for one in self._queue}
        if self._turn is not None:
            waiting |= {one.client_id for one in self._turn.inbox}
        return given.client_id in self.stream.conversation.client_ids or given.client_id in waiting

    @property
    def _idle(self) -> bool:
        """Whether nothing runs; who hears a turn's last event may come before the task is settled."""
        return self._task is None or self._task.done()

    def _wake(self, resumed_by: str = "") -> None:
        if self._idle and not self._closed:
            self._task = asyncio.create_task(self._work(resumed_by))
            self._task.add_done_callback(self._settled)

    async def _work(self, resumed_by: str) -> None:
        try:
            await self._serve(resumed_by)
        except StorageError as error:
            # nothing can be written: who waits is told, the rest of the queue and the open turn stay
            self.stream.tell(_unsaved(self._turn, error))
        finally:
            self._turn = None

    async def _serve(self, resumed_by: str) -> None:
        if resumed_by:
            await self._continue(resumed_by)
        elif self.stream.conversation.turn_open:
            self._abandon()
        while self._queue and not self._closed:
            turn = self._begin(self._queue[0])
            self._queue.popleft()  # not before it is on the disk
            await self._run(turn)
            if turn.cancel.reason is not None and not self._came_after_stop():
                return

    def _came_after_stop(self) -> bool:
        """Whether an input of a person who knew of the stop waits: it ends the pause of the queue."""
        return any(one.client_id in self._after_stop for one in self._queue)

    def _settled(self, task: "asyncio.Task[None]") -> None:
        if self._task is task:
            self._task = None
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._end(fault)

    def _begin(self, given: Input) -> Turn:
        stream, self._turn = self.stream, None
        stream.turn, stream.step = stream.conversation.turn + 1, 0
        stream.emit(
            TurnStarted(
                input=given.text,
                source=given.source,
                principal=given.principal,
                client_id=given.client_id,
                persona=self._fit.persona,
                model=self._fit.model,
                mode=self._fit.mode,
                attended=self._fit.attended,
                trusted=self._fit.trusted,
                names=self._fit.names_in(given.text),
            ),
            durable=True,
        )
        return self._fresh(given.text, given.source, parse_principal(given.principal))

    def _fresh(self, text: str, source: str, principal: Principal) -> Turn:
        self._fit.new_turn()
        turn = Turn(text, source, principal, self._fit.meter(), Cancel(self._fit.grace_seconds))
        self._turn = turn
        self._after_stop.clear()
        return turn

    async def _continue(self, source: str) -> None:
        conversation = self.stream.conversation
        self.stream.turn, self.stream.step = conversation.turn, conversation.step
        principal = self._speakers()
        resume(self.stream, source, str(principal))
        turn = self._fresh("", source, principal)
        turn.meter.go_on(conversation.step, conversation.turn_tokens, conversation.turn_cost)
        await self._run(turn, resumed=True)

    def _speakers(self) -> Principal:
        """Who spoke in the interrupted turn: continuing it gives nobody more rights."""
        spoken = [
            parse_principal(event.principal)
            for event in self._fit.history(0)
            if isinstance(event, TurnStarted | InputInjected) and event.turn == self.stream.turn
        ]
        return reduce(Principal.narrowed, spoken) if spoken else Principal()

    async def _run(self, turn: Turn, *, resumed: bool = False) -> None:
        try:
            await self._fit.loop.run(turn, resumed=resumed)
        finally:
            # what came too late for this turn begins the next one
            self._queue.extendleft(_input(one) for one in reversed(turn.inbox))
            turn.inbox.clear()

    def _abandon(self) -> None:
        """A new input came instead of a continuation: the interrupted turn gets its end."""
        stream = self.stream
        stream.turn, stream.step = stream.conversation.turn, stream.conversation.step
        close_open_calls(stream)
        stream.emit(StepFinished(text="[interrupted: limnos ended during this turn]", finish="interrupted"))
        stream.emit(
            TurnFinished(
                reason="stopped",
                exit=EXIT_CODES["stopped"],
                steps=stream.step,
                calls=0,
                ms=0,
                tokens=0,
                message="limnos ended",
            ),
            durable=True,
        )

    def _tell(self, event: Event) -> None:
        if isinstance(event, InputInjected) and self._turn is not None:
            self._turn.narrow(parse_principal(event.principal))
        for inbox in tuple(self._readers):
            inbox.put_nowait(event)

    def _end(self, fault: BaseException | None) -> None:
        for inbox in tuple(self._readers):
            inbox.put_nowait(_Ended(fault))


def _input(injected: InputInjected) -> Input:
    return Input(injected.input, injected.client_id, injected.source, injected.principal)


def _unsaved(turn: Turn | None, error: StorageError) -> TurnFinished:
    return TurnFinished(
        reason="failed",
        exit=1,
        steps=turn.meter.steps if turn else 0,
        calls=turn.state.calls if turn else 0,
        ms=turn.meter.milliseconds if turn else 0,
        tokens=turn.meter.tokens if turn else 0,
        message=error.what,
        fix=error.fix,
    )
