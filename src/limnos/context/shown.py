"""The messages of the window, kept between renders: what stands already is neither made nor joined again."""

from collections.abc import Iterable, Sequence

from limnos.kernel.messages import Message, Text, text_of, user
from limnos.kernel.units import Said, Step, Unit


class Shown:
    """A joined list that grows at its end, until the boundary or what stands before the units changes."""

    def __init__(self) -> None:
        self._beginning: tuple[object, ...] = ()
        self._kept: list[Message] = []
        self._reached = 0

    def messages(
        self, opening: Sequence[Message], units: Sequence[Unit], boundary: int, *, turn_open: bool
    ) -> list[Message]:
        """`opening`, then the messages of `units` from `boundary` on; a list of the caller's own."""
        settled = max(len(units) - 1, boundary)  # the last unit may grow or be replaced
        beginning = (boundary, turn_open, *opening)
        if beginning != self._beginning or settled < self._reached:
            self._beginning, self._kept, self._reached = beginning, joined(opening), boundary
        for unit in units[self._reached : settled]:
            join(self._kept, visible(unit, turn_open=turn_open))
        self._reached = settled
        messages = list(self._kept)
        for unit in units[settled:]:
            join(messages, visible(unit, turn_open=turn_open))
        return messages


def rendered(unit: Unit) -> tuple[Message, ...]:
    """The messages of a unit, made once when it is closed.

    A user message has its time at the head, and what it names: a stable text, so that the prefix stays.
    """
    if unit.rendered is not None:
        return unit.rendered
    if isinstance(unit, Said):
        here = f"; in this folder: {', '.join(unit.names)}" if unit.names else ""
        unit.rendered = (user(f"[{unit.time[:10]} {unit.time[11:16]} UTC{here}]\n{unit.text}"),)
        return unit.rendered
    messages = tuple(unit.messages())
    if not isinstance(unit, Step) or not unit.open:
        unit.rendered = messages
    return messages


def join(messages: list[Message], more: Iterable[Message]) -> None:
    """Append `more`; neighbouring user messages become one, since some routes want alternating roles."""
    for message in more:
        last = messages[-1] if messages else None
        if last is not None and last.role == "user" and message.role == "user":
            messages[-1] = Message("user", (Text(f"{text_of(last.parts)}\n\n{text_of(message.parts)}"),))
        else:
            messages.append(message)


def joined(messages: Iterable[Message]) -> list[Message]:
    """`messages` as one joined list."""
    together: list[Message] = []
    join(together, messages)
    return together


def visible(unit: Unit, *, turn_open: bool) -> tuple[Message, ...]:
    """`rendered`, but for a reply that broke off: while its turn is open it is asked for again."""
    return () if isinstance(unit, Step) and not unit.complete and turn_open else rendered(unit)
