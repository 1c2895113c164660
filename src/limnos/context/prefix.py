"""How much of one request the next one repeats: what a provider's cache of the prompt can save."""

import json
from collections.abc import Sequence

from limnos.kernel.messages import Message, text_of
from limnos.kernel.model import ToolSpec


class Prefix:
    """Keeps the last two requests; costs nothing until somebody asks."""

    def __init__(self) -> None:
        self._before: tuple[Sequence[ToolSpec], Sequence[Message]] | None = None
        self._now: tuple[Sequence[ToolSpec], Sequence[Message]] | None = None

    def note(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> None:
        """A request that is about to be sent."""
        self._before, self._now = self._now, (tools, messages)

    @property
    def reuse(self) -> float | None:
        """The share, 0 to 1, of the last but one request's bytes that the last one begins with.

        Tool schemas stand before the messages, as providers put them. None before the second request.
        """
        if self._before is None or self._now is None:
            return None
        return repeated(self._before, self._now)


def repeated(
    before: tuple[Sequence[ToolSpec], Sequence[Message]], after: tuple[Sequence[ToolSpec], Sequence[Message]]
) -> float:
    """The share of the bytes of `before` that `after` repeats from its beginning."""
    old = [*(_spec(spec) for spec in before[0]), *(_written(message) for message in before[1])]
    total, same = sum(map(len, old)), 0
    new = [*(_spec(spec) for spec in after[0]), *(_written(message) for message in after[1])]
    for one, other in zip(old, new, strict=False):
        if one != other:
            same += _common(one, other)
            break
        same += len(one)
    return same / total if total else 1.0


def _common(one: bytes, other: bytes) -> int:
    """The length of the common beginning; halves, since comparing slices is fast."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _spec(spec: ToolSpec) -> bytes:
    return json.dumps([spec.name, spec.description, dict(spec.parameters)]).encode()


def _written(message: Message) -> bytes:
    said = text_of(message.parts if message.result is None else message.result.parts)
    calls = [[call.id, call.name, dict(call.arguments or {})] for call in message.calls]
    answered = "" if message.result is None else message.result.call_id
    text = f"{message.role} {answered} {said} {json.dumps(calls) if calls else ''}"
    return text.encode("utf-8", "replace")
