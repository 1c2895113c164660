"""After a crash: what was started and not done has an unknown outcome, and is never run again by itself."""

from limnos.kernel.conversation import Step
from limnos.kernel.events import CallFinished, StepFinished, TurnResumed
from limnos.kernel.messages import Reasoning, text_of
from limnos.kernel.stream import EventStream

UNKNOWN = {
    "reason": "failed",
    "detail": "limnos ended while this call ran: its outcome is unknown, and it was not run again",
    "hint": "look at what it may have changed before you do anything like it again",
}
NEVER_RAN = {
    "reason": "failed",
    "detail": "limnos ended before this call ran; it changed nothing",
    "hint": "call it again if it is still needed",
}


def close_open_calls(stream: EventStream) -> list[str]:
    """Give every call of the interrupted step its one result; returns the ids of the unknown ones."""
    step = stream.conversation.open_step
    if step is None:
        return []
    unknown: list[str] = []
    for call in step.calls:
        if call.id in step.results:
            continue
        ran = call.id in step.started
        if ran:
            unknown.append(call.id)
        stream.emit(
            CallFinished(
                call=call.id,
                tool=call.name,
                outcome="unknown" if ran else "cancelled",
                text="",
                error=UNKNOWN if ran else NEVER_RAN,
            )
        )
    _close_step(stream, step)
    return unknown


def _close_step(stream: EventStream, step: Step) -> None:
    reasoning = [
        {"text": part.text, "signature": part.signature, "model": part.model}
        for part in step.parts
        if isinstance(part, Reasoning)
    ]
    stream.emit(
        StepFinished(
            text=text_of(step.parts),
            calls=[call.id for call in step.calls],
            reasoning=reasoning,
            finish="interrupted",
        ),
        durable=True,
    )


def resume(stream: EventStream, source: str, principal: str, about: str = "") -> TurnResumed:
    """Mark the interrupted turn as going on; its open calls are closed first. `about`: it was set aside."""
    unknown = close_open_calls(stream)
    resumed = TurnResumed(source=source, principal=principal, unknown=unknown, about=about)
    return stream.emit(resumed, durable=True)
