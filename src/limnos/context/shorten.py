"""Head and tail of texts that are too long for the window."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from limnos.kernel.messages import Message, Text, ToolCall, result_text, text_of

LEAST_CHARACTERS = 60
TRIES = 12


class CannotShrinkError(ValueError):
    """Even with every text as short as it can be, `tokens` are left."""

    def __init__(self, tokens: int) -> None:
        super().__init__(f"{tokens} tokens are left")
        self.tokens = tokens


def head_and_tail(text: str, characters: int) -> str:
    """`text` within about `characters`, its middle replaced by a note of how much is missing."""
    if len(text) <= characters:
        return text
    tail = characters // 3
    head = characters - tail
    return (
        f"{text[:head]}\n[... {len(text) - characters} characters left out ...]\n{text[len(text) - tail :]}"
    )


def text_to_count(message: Message) -> str:
    """All that a provider reads of `message`, as one text."""
    said = text_of(message.parts) if message.result is None else result_text(message.result)
    calls = (
        f"{call.name}{json.dumps(dict(call.arguments or {}), ensure_ascii=False)}" for call in message.calls
    )
    return said + "".join(calls)


class Fit(NamedTuple):
    """Messages cut so that they fit, the `characters` that each text may have, and their tokens."""

    messages: list[Message]
    characters: int
    tokens: int


def shorten(messages: Sequence[Message], room: int, tokens: Callable[[Message], int]) -> list[Message]:
    """The messages of `fit`."""
    return fit(messages, room, tokens).messages


def fit(messages: Sequence[Message], room: int, tokens: Callable[[Message], int]) -> Fit:
    """Cut the longest texts to one common length until all messages have at most `room` tokens.

    What is cut: texts of messages and results, and call arguments value by value, so that they stay valid
    JSON. Roles, calls and pairing do not change. Raises CannotShrinkError when nothing is left to cut.
    """
    shortened = list(messages)
    total = sum(map(tokens, shortened))
    bound = max((len(text) for message in messages for text in _texts(message)), default=0)
    for _ in range(TRIES):
        if total <= room:
            break
        if bound <= LEAST_CHARACTERS:
            raise CannotShrinkError(total)
        fair = _fair_bound(shortened, max(room, 0) / total)
        bound = max(min(fair, bound * 3 // 4), LEAST_CHARACTERS)
        shortened = [cut(message, bound) for message in messages]
        total = sum(map(tokens, shortened))
    if total <= room:
        return Fit(shortened, bound, total)
    raise CannotShrinkError(total)


def _fair_bound(messages: Sequence[Message], share: float) -> int:
    """The length such that all texts, cut at it, have `share` of the characters they have now."""
    waiting = sorted(len(text) for message in messages for text in _texts(message))
    left = sum(waiting) * share
    for place, size in enumerate(waiting):
        equal = left / (len(waiting) - place)
        if size > equal:
            return int(equal)
        left -= size
    return max(waiting, default=0)


def _texts(message: Message) -> Iterator[str]:
    yield text_of(message.result.parts if message.result else message.parts)
    for call in message.calls:
        yield from _strings(dict(call.arguments or {}))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from _strings(item)
        case list():
            for item in cast("list[Any]", value):
                yield from _strings(item)
        case _:
            pass


def cut(message: Message, characters: int) -> Message:
    """`message` with every text of at most about `characters`; arguments stay valid JSON."""
    result = message.result
    if result is not None:
        return message._replace(result=result._replace(parts=_cut_parts(result.parts, characters)))
    calls = tuple(_cut_call(call, characters) for call in message.calls)
    return message._replace(parts=_cut_parts(message.parts, characters), calls=calls)


def _cut_parts(parts: tuple[Any, ...], characters: int) -> tuple[Any, ...]:
    text = text_of(parts)
    if len(text) <= characters:
        return parts
    others = tuple(part for part in parts if not isinstance(part, Text))
    return (*others, Text(head_and_tail(text, characters)))


def _cut_call(call: ToolCall, characters: int) -> ToolCall:
    if call.arguments is None:
        return call
    return call._replace(arguments=_cut_value(dict(call.arguments), characters))


def _cut_value(value: Any, characters: int) -> Any:
    match value:
        case str():
            return head_and_tail(value, characters)
        case dict():
            pairs = cast("dict[str, Any]", value).items()
            return {name: _cut_value(item, characters) for name, item in pairs}
        case list():
            return [_cut_value(item, characters) for item in cast("list[Any]", value)]
        case _:
            return value
