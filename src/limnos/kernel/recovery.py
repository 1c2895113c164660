"""After a crash: what was started and not done has an unknown outcome, and is never run again by itself."""

from limnos.kernel.agents import OpenAgent
from limnos.kernel.events import (
    AgentFinished,
    ApprovalAnswered,
    CallFinished,
    Event,
    StepFinished,
    TurnResumed,
)
from limnos.kernel.messages import Reasoning, text_of
from limnos.kernel.stream import EventStream
from limnos.kernel.units import Step

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
    """Give every call of the interrupted step its one result; returns the ids of the unknown ones.

    Sub-agents that were at work are closed first.
    """
    close_open_agents(stream)
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
        stream.emit(_closed(call.id, call.name, ran=ran))
    _close_step(stream, step)
    return unknown


def _closed(call: str, tool: str, *, ran: bool) -> CallFinished:
    return CallFinished(
        call=call,
        tool=tool,
        outcome="unknown" if ran else "cancelled",
        text="",
        error=UNKNOWN if ran else NEVER_RAN,
    )


def close_open_agents(stream: EventStream, path: str = "") -> None:
    """Give every sub-agent without an end one, and all that is open of it; with `path` this one and below."""
    for name, one in reversed(list(stream.conversation.agents.open.items())):
        if not path or name == path or name.startswith(f"{path}/"):
            for event in _ends_of(one):
                placed = event.changed(agent=name, turn=one.started.turn, step=one.step)
                stream.emit(placed, durable=isinstance(event, AgentFinished))


def _ends_of(one: OpenAgent) -> list[Event]:
    """What a sub-agent lacks: answers, results, the end of its step, its own end."""
    ends: list[Event] = [
        ApprovalAnswered(approval=approval, call=call, answer="cancelled", principal="owner", source="")
        for approval, call in one.questions.items()
    ]
    ends += [_closed(call, tool, ran=call in one.running) for call, tool in one.calls.items()]
    if one.reply is not None:
        ends.append(
            StepFinished(
                text=one.reply.text,
                calls=list(one.proposed),
                reasoning=one.reply.reasoning,
                finish="interrupted",
            )
        )
    end = AgentFinished(
        call=one.started.call,
        role=one.started.role,
        reason="interrupted",
        steps=one.step,
        calls=one.ran,
        tokens=one.tokens,
        cost=str(one.cost),
        currency=one.currency,
        had_effects=one.changed,
    )
    return [*ends, end]


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
