"""What happens to the layers of a session's memory; a projection of these and the rest is the database."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from limnos.kernel.event_base import Event


class ContextChanged(Event):
    """What the next request holds, in tokens; `sunk` are ids of units that have left the window with it.

    `used` is the whole request, `system` the prompt in it, `reserve` what is kept free for the reply.
    `marker` says in one line what has sunk just now. `markers` and `ledger` are what stands in the window
    from now on for all that has sunk, `decisions` why each unit stayed or sank: `{"unit", "fate", "why",
    "score", "terms"}`.
    """

    type: ClassVar[str] = "context_changed"

    reason: str
    used: int
    budget: int
    reserve: int
    system: int = 0
    sunk: Sequence[str] = ()
    recalled: Sequence[str] = ()
    marker: str = ""
    markers: Sequence[Mapping[str, Any]] = ()
    ledger: str = ""
    decisions: Sequence[Mapping[str, Any]] = ()


class MemoryRecalled(Event):
    """Automatic recall: `text` stands before the input of the turn, marked as a copy out of memory.

    `hits` are `{"unit", "why", "score", "terms", "trust"}`, a unit of another session with the session before
    it; `tokens` is what the section takes. `trust` is untrusted when one of its hits is.
    """

    type: ClassVar[str] = "memory_recalled"

    query: str
    text: str
    hits: Sequence[Mapping[str, Any]] = ()
    tokens: int = 0
    trust: str = "trusted"


class StepsRecalled(Event):
    """Sunk units of this session are back in the window, at their place in time.

    Until the turn ends no prune moves them. `call` is the call that asked for it.
    """

    type: ClassVar[str] = "steps_recalled"

    units: Sequence[str]
    call: str = ""


class UnitPinned(Event):
    """A person pinned a unit in the window, or let go of it."""

    type: ClassVar[str] = "unit_pinned"

    unit: str
    pinned: bool = True
