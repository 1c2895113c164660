"""The check before every provider call and on every load: no call without its result, none the other way.

An assistant message with calls is followed at once by exactly its results, in call order. What is not so is
repaired: a result in the wrong place moves to its call, a missing one becomes *unknown*, an orphan or a
second one goes. Repairing twice changes nothing more.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from limnos.kernel.messages import Message, ToolError, ToolResult, tool_message

UNKNOWN = ToolError(
    "failed",
    "the outcome of this call is unknown: no result was recorded",
    "look at what it may have changed before you call it again",
)


class Pairing(NamedTuple):
    """The repaired list, and how many results were dropped, made, moved, or calls renamed on the way."""

    messages: tuple[Message, ...]
    dropped: int = 0
    synthesised: int = 0
    moved: int = 0
    renamed: int = 0

    @property
    def valid(self) -> bool:
        """Whether the list was right as it came."""
        return not (self.dropped or self.synthesised or self.moved or self.renamed)


@dataclass(slots=True)
class _Slot:
    """A call and where its result was found."""

    head: int
    call_id: str
    found: int | None = None


def check_pairing(messages: Sequence[Message]) -> Pairing:
    """Return `messages` repaired; the same messages when nothing is wrong."""
    if _goes_on(messages, set()):
        return Pairing(tuple(messages))
    slots = _match(messages)
    used = {slot.found for slot in slots if slot.found is not None}
    dropped = sum(1 for place, message in enumerate(messages) if message.role == "tool" and place not in used)
    fresh, renamed = _unique_ids(messages)
    repaired = _rebuild(messages, slots, fresh)
    return Pairing(
        repaired,
        dropped,
        synthesised=sum(1 for slot in slots if slot.found is None),
        moved=_count_moved(slots),
        renamed=renamed,
    )


class GrowingCheck:
    """`check_pairing` for a list that grows: its beginning, once found right, is not looked at again."""

    def __init__(self) -> None:
        self._right: tuple[Message, ...] = ()
        self._ids: set[str] = set()

    def __call__(self, messages: tuple[Message, ...]) -> Pairing:
        """Return `messages` repaired; the same messages when nothing is wrong."""
        known = len(self._right)
        if messages[:known] != self._right:
            known, self._ids = 0, set()
        if _goes_on(messages[known:], self._ids):
            self._right = messages
            return Pairing(messages)
        self._right, self._ids = (), set()
        return check_pairing(messages)


def _goes_on(messages: Sequence[Message], seen: set[str]) -> bool:
    """The usual case in one pass: every call is followed by its result, and its id is not in `seen` yet."""
    waiting: list[str] = []
    for message in messages:
        if message.result is not None:
            if not waiting or message.result.call_id != waiting.pop():
                return False
        elif waiting or message.role == "tool":
            return False
        elif message.calls:
            waiting = [call.id for call in reversed(message.calls)]
            if not _are_new(waiting, seen):
                return False
    return not waiting


def _are_new(ids: Sequence[str], seen: set[str]) -> bool:
    """Whether `ids` say something and are no repetition; they are added to `seen`."""
    for name in ids:
        if name in seen or not name.strip():
            return False
        seen.add(name)
    return True


def _match(messages: Sequence[Message]) -> list[_Slot]:
    """Give every call the place of its result.

    Results between two heads go to the open calls with their id: to all of them in order when there are
    enough, else to the nearest ones, since an older call without a result has lost it.
    """
    slots: list[_Slot] = []
    open_calls: dict[str, list[_Slot]] = {}
    waiting: dict[str, list[int]] = {}

    def settle() -> None:
        for call_id, places in waiting.items():
            candidates = open_calls.get(call_id, [])
            chosen = candidates[-len(places) :]
            for slot, place in zip(chosen, places, strict=False):
                slot.found = place
            open_calls[call_id] = [slot for slot in candidates if slot.found is None]
        waiting.clear()

    for place, message in enumerate(messages):
        if message.calls:
            settle()
            for call in message.calls:
                slot = _Slot(place, call.id)
                slots.append(slot)
                open_calls.setdefault(call.id, []).append(slot)
        elif message.result is not None and message.result.call_id.strip():
            waiting.setdefault(message.result.call_id, []).append(place)
    settle()
    return slots


def _unique_ids(messages: Sequence[Message]) -> tuple[list[str], int]:
    """An id for every call in order of place, each different; how many differ from what they were."""
    taken = Counter(call.id for message in messages for call in message.calls)
    seen: set[str] = set()
    fresh: list[str] = []
    renamed = 0
    for message in messages:
        for call in message.calls:
            name = call.id
            if not name.strip() or name in seen:
                name = _free_name(name.strip() or "call", taken)
                renamed += 1
            taken[name] += 1
            seen.add(name)
            fresh.append(name)
    return fresh, renamed


def _free_name(base: str, taken: Counter[str]) -> str:
    number = 2
    while f"{base}-{number}" in taken:
        number += 1
    return f"{base}-{number}"


def _rebuild(messages: Sequence[Message], slots: list[_Slot], fresh: list[str]) -> tuple[Message, ...]:
    rebuilt: list[Message] = []
    position = 0
    for message in messages:
        if message.role == "tool":
            continue
        if not message.calls:
            rebuilt.append(message)
            continue
        names = fresh[position : position + len(message.calls)]
        own = slots[position : position + len(message.calls)]
        position += len(message.calls)
        calls = tuple(call._replace(id=name) for call, name in zip(message.calls, names, strict=True))
        rebuilt.append(message if calls == message.calls else message._replace(calls=calls))
        rebuilt.extend(_result(messages, slot, name) for slot, name in zip(own, names, strict=True))
    return tuple(rebuilt)


def _result(messages: Sequence[Message], slot: _Slot, name: str) -> Message:
    if slot.found is None:
        return tool_message(ToolResult(name, "unknown", error=UNKNOWN))
    message = messages[slot.found]
    if message.result is None or message.result.call_id == name:
        return message
    return message._replace(result=message.result._replace(call_id=name))


def _count_moved(slots: list[_Slot]) -> int:
    """Results that do not stand right behind their head and the results before them."""
    moved = 0
    expected = 0
    for number, slot in enumerate(slots):
        first = number == 0 or slots[number - 1].head != slot.head
        expected = slot.head + 1 if first else expected
        if slot.found is None:
            continue
        if slot.found == expected:
            expected += 1
        else:
            moved += 1
    return moved
