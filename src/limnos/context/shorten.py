"""Head and tail of texts that are too long for the window."""

from collections.abc import Callable
from dataclasses import replace

from limnos.kernel.messages import Message, Text, text_of

LEAST_CHARACTERS = 200


def head_and_tail(text: str, characters: int) -> str:
    """`text` within about `characters`, its middle replaced by a note of how much is missing."""
    if len(text) <= characters:
        return text
    tail = characters // 3
    head = characters - tail
    return (
        f"{text[:head]}\n[... {len(text) - characters} characters left out ...]\n{text[len(text) - tail :]}"
    )


def shorten_results(messages: list[Message], room: int, count: Callable[[str], int]) -> list[Message]:
    """Shorten texts, longest first in equal shares, until all fit `room` tokens.

    The system message stays; every other text keeps at least 200 characters. Roles, calls and pairing do
    not change.
    """
    texts = [_text(message) for message in messages[1:]]
    sizes = [count(text) for text in texts]
    bound = _fair_bound(sizes, room)
    shortened = [messages[0]]
    for message, text, size in zip(messages[1:], texts, sizes, strict=True):
        if size <= bound:
            shortened.append(message)
        else:
            characters = max(int(len(text) * bound / size * 0.9), LEAST_CHARACTERS)
            shortened.append(_with_text(message, head_and_tail(text, characters)))
    return shortened


def _fair_bound(sizes: list[int], room: int) -> float:
    """The largest size such that the sum of all sizes cut at it is at most `room`."""
    left = float(room)
    waiting = sorted(sizes)
    for place, size in enumerate(waiting):
        share = left / (len(waiting) - place)
        if size > share:
            return share
        left -= size
    return float(max(sizes, default=0))


def _text(message: Message) -> str:
    return text_of(message.result.parts if message.result else message.parts)


def _with_text(message: Message, text: str) -> Message:
    if message.result is not None:
        return replace(message, result=replace(message.result, parts=(Text(text),)))
    others = tuple(part for part in message.parts if not isinstance(part, Text))
    return replace(message, parts=(*others, Text(text)))
