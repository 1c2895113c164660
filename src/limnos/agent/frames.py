"""Turns that were begun and wait: set aside for an interrupt, or left open by a process that died."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from limnos.agent.scheduling import Rank
from limnos.kernel.cancel import Cancel
from limnos.kernel.conversation import OpenTurn
from limnos.kernel.errors import StorageError
from limnos.kernel.events import EXIT_CODES, Event, InputInjected, StepFinished, TurnFinished, TurnStarted
from limnos.kernel.limits import Meter
from limnos.kernel.recovery import close_open_calls
from limnos.kernel.seams import Principal, parse_principal
from limnos.kernel.stream import EventStream
from limnos.kernel.turn import Ending, Turn, answered, close

_DIED = "limnos ended"


@dataclass(slots=True)
class Frame:
    """A turn that waits. `about` is empty for one that was never set aside; `asked` are its questions.

    `inbox` are inputs that were injected into it and that it has not taken in.
    """

    number: int
    source: str
    principal: Principal
    meter: Meter
    rank: Rank
    about: str = ""
    calls: int = 0
    asked: int = 0
    inbox: list[InputInjected] = field(default_factory=list[InputInjected])


def frame_of(turn: Turn, begun: OpenTurn, rank: Rank) -> Frame:
    """A running turn that was just set aside."""
    rank.was_set_aside()
    about, calls, inbox = begun.about or f"turn {begun.turn}", turn.state.calls, turn.inbox[:]
    turn.inbox.clear()
    return Frame(
        begun.turn, turn.source, turn.principal, turn.meter, rank, about=about, calls=calls, inbox=inbox
    )


def restored(begun: OpenTurn, source: str, principal: Principal, meter: Meter, *, set_aside: bool) -> Frame:
    """A turn that another process left."""
    meter.go_on(begun.step, begun.tokens, begun.cost)
    about = (begun.about or f"turn {begun.turn}") if set_aside else ""
    calls = begun.calls if set_aside else 0
    return Frame(begun.turn, source, principal, meter, Rank(begun.level), about=about, calls=calls)


def speakers(begun: OpenTurn, history: Iterable[Event]) -> Principal:
    """Who spoke in an interrupted turn: continuing it gives nobody more rights."""
    spoken = [
        parse_principal(event.principal)
        for event in history
        if isinstance(event, TurnStarted | InputInjected) and event.turn == begun.turn
    ]
    return reduce(Principal.narrowed, spoken) if spoken else Principal()


def unsaved(turn: Turn | None, error: StorageError) -> TurnFinished:
    """The end of a turn that cannot be written."""
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


def end_frame(stream: EventStream, frame: Frame) -> None:
    """Give a turn that waits its end, because limnos ends."""
    stream.turn, stream.step = frame.number, frame.meter.steps
    turn = Turn("", frame.source, frame.principal, frame.meter, Cancel())
    turn.state.calls = frame.calls
    close(stream, turn, Ending("terminated", "terminated while it was set aside"))


def abandon(stream: EventStream, *, with_suspended: bool) -> None:
    """A new input came instead of a continuation: the turns that a process left open get their end."""
    conversation = stream.conversation
    left = [conversation.last] if conversation.turn_open else []
    left += reversed(conversation.suspended if with_suspended else [])
    for place, begun in enumerate(left):
        stream.turn, stream.step = begun.turn, begun.step
        close_open_calls(stream)
        if (place == 0 and conversation.turn_open) or not answered(stream):
            stream.emit(StepFinished(text=f"[interrupted: {_DIED} during this turn]", finish="interrupted"))
        stream.emit(
            TurnFinished(
                reason="stopped",
                exit=EXIT_CODES["stopped"],
                steps=stream.step,
                calls=0,
                ms=0,
                tokens=0,
                message=_DIED,
                set_aside=len(left) - place - 1,
            ),
            durable=True,
        )
