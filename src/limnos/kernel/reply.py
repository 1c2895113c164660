"""One reply of a model: asked for, streamed to everybody who watches, and collected."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from limnos.kernel.events import ReasoningDelta as ReasoningEvent
from limnos.kernel.events import TextDelta as TextEvent
from limnos.kernel.events import Warned
from limnos.kernel.messages import ToolCall
from limnos.kernel.model import (
    CallDelta,
    Delta,
    Finish,
    Model,
    Notice,
    ReasoningDelta,
    Request,
    TextDelta,
    Usage,
)
from limnos.kernel.stream import EventStream


@dataclass(slots=True)
class Reply:
    """What came: text, reasoning, calls, how it ended, and what it used where the provider said so."""

    model: str
    text: str = ""
    reasoning: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    calls: tuple[ToolCall, ...] = ()
    finish: Finish = field(default_factory=lambda: Finish("incomplete"))
    usage: Usage | None = None

    @property
    def complete(self) -> bool:
        """Whether the provider finished it."""
        return self.finish.reason not in ("incomplete", "error")


async def collect(model: Model, request: Request, stream: EventStream, reply: Reply) -> None:
    """Stream `model`'s answer into `reply`; what came stays in it when this is cancelled."""
    deltas = model.stream(request)
    try:
        async for delta in deltas:
            reply.model = model.name
            _take(delta, stream, reply)
    finally:
        await _close(deltas)


def _take(delta: Delta, stream: EventStream, reply: Reply) -> None:
    match delta:
        case TextDelta(text=text):
            reply.text += text
            stream.emit(TextEvent(text=text))
        case ReasoningDelta(text=text, signature=signature):
            _think(reply, text, signature)
            if text:
                stream.emit(ReasoningEvent(text=text))
        case Notice():
            stream.emit(Warned(code=delta.code, text=delta.text, fix=delta.fix))
        case Usage():
            reply.usage = delta
        case Finish():
            reply.finish = delta
            reply.calls = delta.calls
        case CallDelta():
            pass


def _think(reply: Reply, text: str, signature: str | None) -> None:
    """Reasoning is kept byte for byte; a signature closes its block."""
    if not reply.reasoning or reply.reasoning[-1]["signature"] is not None:
        if not text and signature is None:
            return
        reply.reasoning.append({"text": "", "signature": None, "model": reply.model})
    reply.reasoning[-1]["text"] += text
    if signature is not None:
        reply.reasoning[-1]["signature"] = signature


async def _close(deltas: AsyncIterator[Delta]) -> None:
    close = getattr(deltas, "aclose", None)
    if close is not None:
        await close()
