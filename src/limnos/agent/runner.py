"""One open session: what waits, the running turn, those set aside for it, and who listens."""

import asyncio
from collections.abc import AsyncIterator, Sized

from limnos.agent.edit_history import Undone
from limnos.agent.fittings import Fittings
from limnos.agent.frames import Frame, abandon, end_frame, frame_of, restored, speakers, unsaved
from limnos.agent.listening import Readers
from limnos.agent.moves import Moves
from limnos.agent.scheduling import MAX_QUEUE, SAFE_SECONDS, Input, Queue, Rank, check_level, may_pre_empt
from limnos.agent.session_jobs import Listed
from limnos.kernel.cancel import Cancel, StopReason
from limnos.kernel.errors import LimitError, StorageError, UsageError
from limnos.kernel.events import Event, InputDropped, InputInjected, TurnFinished, TurnStarted, TurnSuspended
from limnos.kernel.limits import Meter
from limnos.kernel.recovery import resume
from limnos.kernel.seams import Answer, Principal, parse_principal
from limnos.kernel.stream import EventStream
from limnos.kernel.turn import Turn

MAX_INPUT = 1_000_000  # characters


class Runner:
    """Takes inputs, runs one turn at a time, tells everybody what happens."""

    def __init__(self, stream: EventStream, fittings: Fittings) -> None:
        self.stream = stream
        self._fit = fittings
        self._queue = Queue()
        self._turn: Turn | None = None
        self._rank = Rank()
        self._first = 0
        self._frames: list[Frame] = []
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.Task[None] | None = None
        self._readers = Readers(fittings.history, lambda: stream.conversation.last_seq)
        self._closed = False
        self._after_stop: set[str] = set()
        stream.listen(self._tell)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def turn(self) -> Turn | None:
        """The running turn."""
        return self._turn

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or will begin by itself."""
        return not self._idle

    async def rest(self) -> None:
        """Wait until nothing runs."""
        while (task := self._task) is not None and not task.done():
            await asyncio.wait({task})

    @property
    def running(self) -> int:
        """The number of the first event of the running turn; 0 when none runs."""
        return self._first if self._turn is not None else 0

    @property
    def interrupted(self) -> bool:
        """Whether a turn has no end yet and nothing runs."""
        return self.stream.conversation.unfinished and self._idle

    @property
    def waiting(self) -> list[Input]:
        """The queued inputs, in the order in which they will be taken."""
        return self._queue.inputs()

    @property
    def injected(self) -> list[Input]:
        """The injected inputs that the running turn has not taken in yet, in order."""
        return [_input(one) for one in self._turn.inbox] if self._turn else []

    def submit(self, given: Input) -> None:
        """Queue an input; an interrupt may set the running turn aside.

        Raises LimitError when 256 wait already, UsageError after `close`, for a level that does not exist and
        for more than 1,000,000 characters.
        """
        if self._admits(given, self._queue):
            self._queue.add(given)
        elif self._queue.holds(given.client_id) is None:
            return
        self._pre_empt()
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
                    level=given.level,
                )
            )

    def _admits(self, given: Input, waiting: Sized) -> bool:
        """Whether an input is new; raises when it cannot be taken."""
        if self._closed:
            raise UsageError(f"session {self.stream.session} is closed", f"limnos open {self.stream.session}")
        check_level(given.level)
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
        given = self._queue.drop(position)
        if given is not None:
            self._drop(given)
        return given

    def stop(self, reason: StopReason) -> None:
        """Stop the running turn; what waits by then is kept until the next input or `resume`."""
        if self._turn is not None:
            self._turn.cancel.request(reason)

    def resume(self, source: str) -> None:
        """Continue the interrupted turns, or else go on with the queue that a stop or a full disk left."""
        if self.interrupted:
            self._wake(resumed_by=source)
        elif self._queue:
            self._wake()

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an open question."""
        return self._fit.questions.answer(approval, answer)

    def asks(self, approval: str) -> bool:
        """Whether this question is open."""
        return self._fit.questions.is_open(approval)

    @property
    def moves(self) -> Moves:
        """What a person moves between window and cold layer."""
        return self._fit.moves

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

    def events(self, after: int, bound: int = 0) -> AsyncIterator[Event]:
        """The persisted events above `after`, then live ones, each once and in order.

        Raises listening.BehindError when more than `bound` wait; 0 is no bound.
        """
        return self._readers.events(after, bound)

    async def close(self) -> None:
        """Stop what runs, within the grace time, and give everything back; may be called twice."""
        if self._closed:
            return
        self._closed = True
        left = self._queue.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._turn is not None and self._turn.cancel.reason is None:
            self.stop("terminated")
        if (task := self._task) is not None:
            await asyncio.wait({task}, timeout=self._fit.grace_seconds * 2)
            if not task.done():
                task.cancel()
                await asyncio.wait({task}, timeout=self._fit.grace_seconds + 1)
        self._end_what_waits(left)
        await self._fit.jobs.close()
        self._readers.end(None)
        self._fit.finish()

    def _end_what_waits(self, queued: list[Input]) -> None:
        """Every input gets its one terminal event, unless the disk takes none any more."""
        injected = [_input(one) for frame in self._frames for one in frame.inbox]
        try:
            for frame in reversed(self._frames):
                end_frame(self.stream, frame)
            for given in (*injected, *self._queue.clear(), *queued):
                self._drop(given, closed=True)
        except StorageError:
            return

    def _drop(self, given: Input, *, closed: bool = False) -> None:
        self.stream.emit(
            InputDropped(
                client_id=given.client_id, source=given.source, reason="closed" if closed else "taken_back"
            )
        )

    def _is_known(self, given: Input) -> bool:
        inboxes = [frame.inbox for frame in self._frames] + ([self._turn.inbox] if self._turn else [])
        return (
            given.client_id in self.stream.conversation.client_ids
            or self._queue.holds(given.client_id) is not None
            or any(one.client_id == given.client_id for inbox in inboxes for one in inbox)
        )

    @property
    def _idle(self) -> bool:
        """Whether nothing runs; who hears a turn's last event may come before the task is settled."""
        return self._task is None or self._task.done()

    def _wake(self, resumed_by: str = "") -> None:
        if self._idle and not self._closed:
            self._task = asyncio.create_task(self._work(resumed_by))
            self._task.add_done_callback(self._settled)

    def _pre_empt(self) -> None:
        """Have the running turn set aside when a waiting interrupt outranks it, now or when it may be."""
        turn, interrupt, now = self._turn, self._queue.interrupt(), self.stream.clock.monotonic()
        if turn is None or interrupt is None or not may_pre_empt(interrupt, self._rank, len(self._frames)):
            return
        if now >= self._rank.safe_until:
            turn.cancel.suspend(interrupt.client_id)
        elif self._timer is None or self._timer.done():
            self._timer = asyncio.create_task(self._pre_empt_later(self._rank.safe_until - now))

    async def _pre_empt_later(self, seconds: float) -> None:
        await self.stream.clock.sleep(min(seconds, SAFE_SECONDS))
        self._timer = None
        self._pre_empt()

    async def _work(self, resumed_by: str) -> None:
        try:
            await self._serve(resumed_by)
        except StorageError as error:
            # nothing can be written: who waits is told, the rest of the queue and the open turn stay
            self._readers.unsaved = self.stream.tell(unsaved(self._turn, error))
        finally:
            self._turn = None

    async def _serve(self, resumed_by: str) -> None:
        conversation = self.stream.conversation
        if resumed_by:
            self._restore(resumed_by)
        elif conversation.turn_open or (conversation.suspended and not self._frames):
            abandon(self.stream, with_suspended=not self._frames)
        going_first = ""
        while not self._closed and (turn := self._next(going_first)) is not None:
            ended = await self._run(*turn)
            going_first = ended.by if isinstance(ended, TurnSuspended) else ""
            if turn[0].cancel.reason is not None and not self._came_after_stop():
                return

    def _next(self, going_first: str) -> tuple[Turn, bool] | None:
        """The turn that is next, begun or resumed; whether it is resumed."""
        given = self._queue.holds(going_first)
        if given is None and self._frames:
            given = self._queue.interrupt()
            if given is None or given.level <= self._frames[-1].rank.value:
                return self._continue(self._frames[-1]), True
        given = given or self._queue.first()
        return None if given is None else (self._begin(given), False)

    def _came_after_stop(self) -> bool:
        """Whether an input of a person who knew of the stop waits: it ends the pause of the queue."""
        return any(one.client_id in self._after_stop for one in self._queue.inputs())

    def _settled(self, task: "asyncio.Task[None]") -> None:
        if self._task is task:
            self._task = None
        if not task.cancelled() and (fault := task.exception()) is not None:
            self._readers.end(fault)

    def _begin(self, given: Input) -> Turn:
        stream, self._turn = self.stream, None
        stream.turn, stream.step = stream.conversation.turns + 1, 0
        before = self._frames[-1] if self._frames else None
        started = stream.emit(
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
                level=given.level,
                interrupts=f"turn {before.number}: {before.about}" if before else "",
            ),
            durable=True,
        )
        self._queue.take(given)  # not before it is on the disk
        self._first = started.seq
        self._rank = Rank(given.level)
        asked = self._fit.new_turn(0)
        if before is not None and before.number == stream.turn - 1:
            before.asked = asked
        principal = parse_principal(given.principal)
        return self._fresh(given.text, given.source, principal, self._fit.meter())

    def _fresh(self, text: str, source: str, principal: Principal, meter: Meter) -> Turn:
        turn = Turn(text, source, principal, meter, Cancel(self._fit.grace_seconds))
        self._turn = turn
        self._after_stop.clear()
        return turn

    def _restore(self, source: str) -> None:
        """Make frames of the turns that are open on the disk and not here."""
        conversation = self.stream.conversation
        left = [] if self._frames else [(begun, True) for begun in conversation.suspended]
        if conversation.turn_open:
            left.append((conversation.last, False))
        for begun, set_aside in left:
            principal = speakers(begun, self._fit.history(0))
            self._frames.append(restored(begun, source, principal, self._fit.meter(), set_aside=set_aside))

    def _continue(self, frame: Frame) -> Turn:
        stream, self._turn = self.stream, None
        stream.turn, stream.step = frame.number, frame.meter.steps
        self._first = resume(stream, frame.source, str(frame.principal), frame.about).seq
        self._frames.remove(frame)
        self._fit.new_turn(frame.asked)
        frame.meter.unpause()
        turn = self._fresh("", frame.source, frame.principal, frame.meter)
        turn.inbox, turn.state.calls, self._rank = frame.inbox, frame.calls, frame.rank
        if frame.about:
            frame.rank.goes_on(stream.clock.monotonic())
        return turn

    async def _run(self, turn: Turn, resumed: bool) -> TurnFinished | TurnSuspended:
        self._pre_empt()
        try:
            ended = await self._fit.loop.run(turn, resumed=resumed)
            if isinstance(ended, TurnSuspended):
                self._frames.append(frame_of(turn, self.stream.conversation.suspended[-1], self._rank))
            return ended
        finally:
            # what came too late for this turn begins the next one
            self._queue.put_first(_input(one) for one in turn.inbox)
            turn.inbox.clear()

    def _tell(self, event: Event) -> None:
        if isinstance(event, InputInjected) and self._turn is not None:
            self._turn.narrow(parse_principal(event.principal))
        self._readers.tell(event)


def _input(injected: InputInjected) -> Input:
    return Input(injected.input, injected.client_id, injected.source, injected.principal, injected.level)
