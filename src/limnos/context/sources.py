"""What the context engine asks of memory, and what it does without one."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

from limnos.kernel.units import Unit
from limnos.memory.hits import Hit as Hit
from limnos.memory.hits import Identifier as Identifier
from limnos.memory.hits import Scored as Scored


class Relevance(Protocol):
    """Scores units of the window. Must return within a second or so and must not raise."""

    async def scores(self, query: str, units: Sequence[Unit]) -> Sequence[Scored]:
        """One score for each of `units`, in their order."""
        ...


class Recollection(Protocol):
    """Looks up what belongs to an input; moves nothing."""

    async def recollect(self, query: str, *, k: int, without: Collection[str]) -> Sequence[Hit]:
        """At most `k` hits, best first, none of the ids in `without`; empty when there is nothing."""
        ...


class Identifiers(Protocol):
    """The identifiers of all units of this session that have sunk."""

    def identifiers(self, limit: int) -> Sequence[Identifier]:
        """At most `limit` of them, newest first."""
        ...


class Sources(NamedTuple):
    """Where the engine looks beyond the window; None: it helps itself with what it has.

    `recallable` says whether the model has tools that bring back what has sunk.
    """

    relevance: Relevance | None = None
    recollection: Recollection | None = None
    identifiers: Identifiers | None = None
    recallable: bool = False


NOTHING = Sources()
