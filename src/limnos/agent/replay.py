"""Replaying a session: the same loop over the recorded replies and results, compared event by event."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from copy import copy, deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from limnos.agent.recorded import (
    Episode,
    RecordedAnswers,
    RecordedIds,
    RecordedJudge,
    RecordedModel,
    RecordedTools,
    RecordEnds,
)
from limnos.agent.tools_of_today import NoBlobs, tools_of_today
from limnos.kernel.approvals import Gate, GateSettings
from limnos.kernel.calls import Calls, Toolset
from limnos.kernel.cancel import Cancel
from limnos.kernel.conversation import Conversation
from limnos.kernel.deciding import mode_of
from limnos.kernel.errors import LimitError
from limnos.kernel.event_records import to_record
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallStarted,
    Event,
    InputInjected,
    MemoryRecalled,
    ReplyFinished,
    SessionStarted,
    StepFinished,
    TurnFinished,
    TurnResumed,
    TurnStarted,
)
from limnos.kernel.limits import Caps, Meter
from limnos.kernel.loop import Loop
from limnos.kernel.model import Usage
from limnos.kernel.registry import Catalogue
from limnos.kernel.seams import Clock, Rendered, parse_principal
from limnos.kernel.stages import Pipeline
from limnos.kernel.stream import EventStream
from limnos.kernel.turn import Parts, Turn
from limnos.sdk.schema import SchemaValidator
from limnos.store.audit import History, read_history

# What a turn needs to know of those before it: who spoke in which mode, and what *always* allowed where.
_REMEMBERED = (SessionStarted, TurnStarted, ApprovalAsked, ApprovalAnswered)
# What must come out the same; times, sizes, costs and random ids need not.
COMPARED: dict[str, tuple[str, ...]] = {
    "input_injected": ("input", "principal"),
    "reply_finished": ("text", "reasoning", "finish"),
    "call_proposed": ("call", "tool", "arguments", "parse_error", "cut"),
    "approval_asked": ("call", "tool", "arguments"),
    "approval_answered": ("call", "answer", "reason"),
    "call_started": ("call", "arguments"),
    "call_finished": ("call", "tool", "outcome", "text", "error"),
    "step_finished": ("text", "calls", "finish", "complete"),
    "turn_suspended": (),
    "turn_finished": ("reason", "exit", "steps", "calls"),
}


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where the replay did something else. `seq` is that of the recorded event."""

    seq: int
    what: str
    recorded: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a replay found. `damaged`: parts of the file could not be read.

    Replies and results are those that were compared: not those of sub-agents.
    """

    events: int
    replies: int
    results: int
    damaged: bool
    divergence: Divergence | None = None


@dataclass(slots=True)
class _MemoryLog:
    """A log that keeps what would have been written."""

    events: list[Event] = field(default_factory=list[Event])

    def append(self, event: Event, *, durable: bool = False) -> None:
        self.events.append(event)


class _NoContext:
    """Shows a recorded model nothing: it knows what it says."""

    async def recall(self, conversation: Conversation) -> MemoryRecalled | None:
        return None

    async def render(self, conversation: Conversation, *, note: str = "", tools: bool = True) -> Rendered:
        return Rendered((), (), used=1, budget=1_000_000, reserve=0)

    def overflowed(self, limit: int | None) -> None:
        """Nothing to shrink."""


class _NoMoney:
    def add(self, cost: Decimal) -> None:
        """Replaying costs nothing."""

    def today(self) -> Decimal:
        return Decimal(0)

    def total(self) -> Decimal:
        return Decimal(0)


@dataclass(frozen=True, slots=True)
class _Place:
    path: str

    def identity(self) -> str:
        return "replayed"


class _HurriedClock:
    """A clock that does not make a replay wait."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.now, self.later, self.monotonic = clock.now, clock.later, clock.monotonic

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class _RecordedMeter(Meter):
    """Ends the turn at the step border at which it ended then."""

    def __init__(self, episode: Episode, cancel: Cancel, clock: Clock) -> None:
        super().__init__(Caps(steps=10**6, tokens=10**12, seconds=10**9), clock, _free, _NoMoney())
        self._episode = episode
        self._cancel = cancel

    def check(self) -> None:
        end = self._episode.end
        if end is None or self.steps < end.steps:
            return
        if end.reason == "limit":
            raise LimitError(end.message, end.fix)
        if end.reason in ("stopped", "terminated"):
            self._episode.stop(self._cancel)


def verify(path: Path, clock: Clock) -> Verification:
    """Run every turn of the session file again. Reads only; starts no tool and no model."""
    history = read_history(path)
    divergence = _changed_record(history) or asyncio.run(
        _first_divergence(history.events, _HurriedClock(clock))
    )
    kinds = [event.type for event in history.events if not event.agent]
    return Verification(
        len(history.events),
        kinds.count("step_finished"),
        kinds.count("call_finished"),
        history.damaged,
        divergence,
    )


def _changed_record(history: History) -> Divergence | None:
    """A record that is not as it was written, or not where it was."""
    if history.changed:
        return Divergence(history.changed[0], "record", "as written", "changed since")
    for before, event in pairwise(history.events):
        if event.seq <= before.seq:
            return Divergence(event.seq, "order", f"above {before.seq}", str(event.seq))
    return None


async def _first_divergence(events: tuple[Event, ...], clock: Clock) -> Divergence | None:
    conversation, before, done = Conversation(), list[Event](), 0
    for start, episode in _episodes(events):
        for event in events[done:start]:
            conversation.apply(event)
            if isinstance(event, _REMEMBERED) and not event.agent:
                before.append(event)
        done = start
        replayed = await _run(episode, before, _this_turn(conversation), clock)
        found = _compare(episode, replayed)
        if found is not None:
            return found
    return None


def _this_turn(conversation: Conversation) -> Conversation:
    """A copy that a replay may change; of earlier turns only what is left of them, not what was said."""
    own = copy(conversation)
    units = takewhile(lambda unit: unit.turn == conversation.turn, reversed(conversation.units))
    own.units = deepcopy(list(units))[::-1]
    own.last, own.suspended = copy(conversation.last), list(conversation.suspended)
    own.client_ids, own.call_ids = set(conversation.client_ids), set(conversation.call_ids)
    return own


def _episodes(events: tuple[Event, ...]) -> list[tuple[int, Episode]]:
    """Every turn, with the place of its first event behind its head."""
    episodes: list[tuple[int, Episode]] = []
    for place, event in enumerate(events):
        if isinstance(event, TurnStarted | TurnResumed):
            episodes.append((place + 1, Episode(event, [])))
        elif episodes and event.turn == episodes[-1][1].head.turn:
            episodes[-1][1].take(event)
    return episodes


async def _run(
    episode: Episode, before: Sequence[Event], conversation: Conversation, clock: Clock
) -> list[Event]:
    log = _MemoryLog()
    stream = EventStream("replay", log, clock, conversation)
    stream.turn, stream.step = conversation.turn, conversation.step
    turn = _turn(episode, conversation, clock)
    loop = Loop(_parts(episode, before, stream, turn))
    with suppress(RecordEnds):
        await loop.run(turn, resumed=isinstance(episode.head, TurnResumed))
    return log.events


def _turn(episode: Episode, conversation: Conversation, clock: Clock) -> Turn:
    cancel = Cancel(1.0)
    meter = _RecordedMeter(episode, cancel, clock)
    meter.steps = conversation.step if isinstance(episode.head, TurnResumed) else 0
    text = episode.head.input if isinstance(episode.head, TurnStarted) else ""
    turn = Turn(text, "replay", parse_principal(episode.head.principal), meter, cancel)
    turn.inbox += episode.injected_first()
    if isinstance(episode.head, TurnResumed) and episode.head.about:
        turn.state.calls = conversation.last.calls
    return turn


def _free(model: str, usage: Usage) -> tuple[Decimal, str]:
    return Decimal(0), "USD"


def _parts(episode: Episode, before: Sequence[Event], stream: EventStream, turn: Turn) -> Parts:
    started = next(event for event in (episode.head, *reversed(before)) if isinstance(event, TurnStarted))
    cwd = _folder(episode, before)
    recorded = RecordedTools(episode, turn.cancel, tools_of_today(stream.clock, cwd))
    stream.listen(recorded.hear)
    stream.listen(partial(_hear, turn))
    gate = Gate(
        GateSettings(mode_of(started.mode), started.trusted),
        RecordedAnswers(episode, turn.cancel) if started.attended else None,
        stream,
        RecordedIds(episode),
        judge=RecordedJudge(episode),
    )
    tools = Toolset(
        recorded.registry, Catalogue(recorded.registry), SchemaValidator(), NoBlobs(), _Place("."), 10**9
    )
    stages = Pipeline()
    model = RecordedModel(episode, turn.cancel, turn.inbox, started.model)
    calls = Calls(tools, gate, stages, stream)
    return Parts(model, _NoContext(), calls, stages, stream, RecordedIds(episode), 1024)


def _folder(episode: Episode, before: Sequence[Event]) -> str:
    """Where the session worked: rules name files relative to it."""
    found = (
        event.cwd
        for event in (*episode.events, *before)
        if isinstance(event, CallStarted | ApprovalAsked | SessionStarted)
        if event.cwd and "\0" not in event.cwd
    )
    return next(found, "/")


def _hear(turn: Turn, event: Event) -> None:
    if isinstance(event, InputInjected):
        turn.narrow(parse_principal(event.principal))


def _compare(episode: Episode, replayed: list[Event]) -> Divergence | None:
    recorded = [event for event in episode.events if event.type in COMPARED]
    again = [event for event in replayed if event.type in COMPARED]
    if episode.end is None:
        # the process died: what it wrote is a beginning, and the next start closed its calls and the turn
        recorded = [event for event in recorded if not _is_recovery(event)]
        if recorded and isinstance(recorded[-1], ReplyFinished):
            recorded.pop()  # of a reply whose calls were not written any more nobody knows what it was
        again = again[: len(recorded)]
    for one, other in zip(recorded, again, strict=False):
        difference = _difference(one, other)
        if difference is not None:
            return difference
    if len(recorded) != len(again):
        last = recorded[min(len(again), len(recorded) - 1)] if recorded else episode.head
        return Divergence(last.seq, "number of events", str(len(recorded)), str(len(again)))
    return None


def _is_recovery(event: Event) -> bool:
    """Whether this was written about a dead process, by the next one."""
    match event:
        case StepFinished():
            return event.finish == "interrupted"
        case CallFinished():
            return event.outcome in ("unknown", "cancelled")
        case _:
            return isinstance(event, TurnFinished)


def _difference(recorded: Event, replayed: Event) -> Divergence | None:
    if recorded.type != replayed.type:
        return Divergence(recorded.seq, "event", recorded.type, replayed.type)
    one, other = to_record(recorded), to_record(replayed)
    for name in COMPARED[recorded.type]:
        if _canonical(one[name]) != _canonical(other[name]):
            return Divergence(recorded.seq, f"{recorded.type}.{name}", _short(one[name]), _short(other[name]))
    return None


def _canonical(value: Any) -> str:
    """JSON with sorted keys, for comparison."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _short(value: Any) -> str:
    return _canonical(value)[:200]
