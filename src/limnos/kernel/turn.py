"""A turn's state, and how it ends: with a closing message and one terminal event, whatever happened."""

from dataclasses import dataclass, field
from typing import NamedTuple

from limnos.kernel.calls import Calls, TurnState
from limnos.kernel.cancel import STOPS, Cancel
from limnos.kernel.errors import DeniedError, LimitError, LimnosError
from limnos.kernel.events import (
    EXIT_CODES,
    InputInjected,
    StepFinished,
    TurnFinished,
    TurnReason,
    TurnSuspended,
)
from limnos.kernel.limits import Meter
from limnos.kernel.model import Model
from limnos.kernel.pairing import GrowingCheck
from limnos.kernel.repeats import Repeats
from limnos.kernel.reply import Reply
from limnos.kernel.seams import ContextEngine, Ids, Principal
from limnos.kernel.stages import Pipeline
from limnos.kernel.stream import EventStream


class Parts(NamedTuple):
    """What the loop works with; everything is passed in."""

    model: Model
    context: ContextEngine
    calls: Calls
    stages: Pipeline
    stream: EventStream
    ids: Ids
    reply_tokens: int


@dataclass(slots=True)
class Turn:
    """One input and everything until the final answer."""

    text: str
    source: str
    principal: Principal
    meter: Meter
    cancel: Cancel
    inbox: list[InputInjected] = field(default_factory=list[InputInjected])
    state: TurnState = field(init=False)
    reply: Reply | None = None
    broken: int = 0
    recoveries: int = 0
    paired: GrowingCheck = field(default_factory=GrowingCheck)
    window_share: float = 0.0
    last_chance: bool = False
    warned: bool = False

    def __post_init__(self) -> None:
        self.state = TurnState(self.principal, self.cancel, Repeats())

    def narrow(self, principal: Principal) -> None:
        """Take in an input of `principal`: from now on the turn has the rights that all its speakers have."""
        self.principal = self.state.principal = self.principal.narrowed(principal)


class Ending(NamedTuple):
    """How a turn ended; `message` and `fix` say why and what to do when it was not `done`."""

    reason: TurnReason
    message: str = ""
    fix: str = ""


def ending_of(error: LimnosError) -> Ending:
    """How an error ends a turn: by a limit, a denial, or as a failure."""
    reasons: dict[int, TurnReason] = {LimitError.exit_code: "limit", DeniedError.exit_code: "denied"}
    return Ending(reasons.get(error.exit_code, "failed"), error.what, error.fix)


def all_denied(turn: Turn) -> Ending:
    """How a turn ends in which no call of the last step was let through."""
    if turn.state.unattended:
        return Ending(
            "denied", f"{turn.state.unattended} denied: nobody could answer", "run it in a terminal"
        )
    return Ending("denied", "every call of the last step was denied", "say what should be done instead")


def stopped(turn: Turn) -> Ending:
    """How a stop ends a turn."""
    reason = turn.cancel.reason or "stopped"
    return Ending(reason, f"{STOPS[reason]} after step {turn.meter.steps}")


def set_aside(stream: EventStream, turn: Turn) -> TurnSuspended:
    """Write down that the turn waits; of a reply that did not come whole nothing stays."""
    turn.reply = None
    turn.meter.pause()
    stream.step = turn.meter.steps
    return stream.emit(TurnSuspended(by=turn.cancel.suspended_by), durable=True)


def close(stream: EventStream, turn: Turn, ending: Ending) -> TurnFinished:
    """Write the closing assistant message, unless the answer is one, and the terminal event."""
    say_ending(stream, turn, ending)
    meter = turn.meter
    return stream.emit(
        TurnFinished(
            reason=ending.reason,
            exit=EXIT_CODES[ending.reason],
            steps=meter.steps,
            calls=turn.state.calls,
            ms=meter.milliseconds,
            tokens=meter.tokens,
            cost=str(meter.cost),
            currency=meter.currency,
            message=ending.message,
            fix=ending.fix,
            set_aside=sum(other.turn != stream.turn for other in stream.conversation.suspended),
        ),
        durable=True,
    )


def say_ending(stream: EventStream, turn: Turn, ending: Ending) -> None:
    """Write the closing assistant message, unless the answer is one.

    It makes the next user message legal for every provider.
    """
    if ending.reason != "done" and not answered(stream):
        note = f"[{ending.message or ending.reason}]"
        text = f"{turn.reply.text}\n{note}" if turn.reply and turn.reply.text else note
        stream.emit(StepFinished(text=text, finish=ending.reason))


def answered(stream: EventStream) -> bool:
    """Whether the conversation ends with an assistant message that has no calls."""
    units = stream.conversation.units
    last = units[-1].messages()[-1] if units else None
    return last is not None and last.role == "assistant" and stream.conversation.open_step is None
