"""What the window holds whole or not at all: messages of a person, steps, and what memory put beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from limnos.kernel.messages import Message, Part, ToolCall, ToolResult, tool_message, user


@dataclass(slots=True)
class Said:
    """A user message. `seq` is the number of the event that brought it, `time` ISO 8601 in UTC.

    `names` are the paths in the working folder that it names. `principal` is who said it.

    `tokens` and `rendered` belong to the context engine: what the unit costs and how it is shown.
    """

    seq: int
    turn: int
    time: str
    text: str
    names: Sequence[str] = ()
    principal: str = "owner"
    tokens: int | None = None
    rendered: tuple[Message, ...] | None = None

    @property
    def id(self) -> str:
        """What the unit is called inside its session; it never changes."""
        return unit_id(self.seq)

    def messages(self) -> list[Message]:
        """The one message of this unit."""
        return [user(self.text)]


@dataclass(slots=True)
class Recalled:
    """The section of memory that stands before the input of a turn: a copy, which is never remembered again.

    The other fields are as in `Said`.
    """

    seq: int
    turn: int
    time: str
    text: str
    tokens: int | None = None
    rendered: tuple[Message, ...] | None = None

    @property
    def id(self) -> str:
        """See `Said`."""
        return unit_id(self.seq)

    def messages(self) -> list[Message]:
        """The one message of this unit."""
        return [user(self.text)]


@dataclass(slots=True)
class Step:
    """A reply and the results of its calls; `open` until its last result is there.

    `number` counts the steps of its turn. `tokens` and `rendered` as in `Said`, once the step is closed.
    """

    seq: int
    turn: int
    number: int
    time: str
    parts: tuple[Part, ...] = ()
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    results: dict[str, ToolResult] = field(default_factory=dict[str, ToolResult])
    started: set[str] = field(default_factory=set[str])
    tools: list[str] = field(default_factory=list[str])
    complete: bool = True
    open: bool = True
    tokens: int | None = None
    rendered: tuple[Message, ...] | None = None

    @property
    def id(self) -> str:
        """See `Said`."""
        return unit_id(self.seq)

    def messages(self) -> list[Message]:
        """The assistant message and its results, in call order."""
        head = Message("assistant", self.parts, tuple(self.calls))
        return [
            head,
            *(tool_message(self.results[call.id]) for call in self.calls if call.id in self.results),
        ]


Unit: TypeAlias = Said | Recalled | Step


class Shelf(Protocol):
    """Where the units of a session lie that have left its window."""

    def put(self, units: Sequence[Unit]) -> None:
        """Keep `units`, which have just sunk."""
        ...

    def take(self, ids: Sequence[str]) -> Sequence[Unit]:
        """The units of these ids, whole; one that is not there is left out."""
        ...


class MemoryShelf:
    """Sunk units in this process only."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}

    def put(self, units: Sequence[Unit]) -> None:
        """See `Shelf`."""
        self._units.update((unit.id, unit) for unit in units)

    def take(self, ids: Sequence[str]) -> Sequence[Unit]:
        """See `Shelf`."""
        return [self._units.pop(one) for one in ids if one in self._units]


def unit_id(seq: int) -> str:
    """The id of the unit that the event `seq` began."""
    return f"#{seq}"
