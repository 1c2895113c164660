"""What the context engine asks of memory, and what it does without one."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from limnos.kernel.units import Unit


class Scored(NamedTuple):
    """How relevant a unit is, 0 to 1, comparable inside one call only; `terms` are its shares."""

    score: float
    terms: Mapping[str, float]


class Relevance(Protocol):
    """Scores units of the window. Must return within a second or so and must not raise."""

    async def scores(self, query: str, units: Sequence[Unit]) -> Sequence[Scored]:
        """One score for each of `units`, in their order."""
        ...


class Hit(NamedTuple):
    """A copy of one unit out of memory.

    `unit` is its id, that of another session as `<session>#<seq>`. `kind` is said, step or fact. `text` is a
    bounded preview without secrets, `why` says in words what it was found by. `trust` is trusted or
    untrusted; what is not `certain` may have nothing to do with the query.
    """

    unit: str
    time: str
    kind: str
    text: str
    score: float
    terms: Mapping[str, float]
    why: str
    origin: str
    trust: str
    certain: bool


class Recollection(Protocol):
    """Looks up what belongs to an input; moves nothing."""

    async def recollect(self, query: str, *, k: int, without: Collection[str]) -> Sequence[Hit]:
        """At most `k` hits, best first, none of the ids in `without`; empty when there is nothing."""
        ...


class Identifier(NamedTuple):
    """A rare value and the unit it was seen in last.

    `said`: it stood in a message of a person or in the arguments of a call. `count` is in how many units.
    """

    token: str
    unit: str
    said: bool
    trust: str = "untrusted"
    count: int = 1  # pyright: ignore[reportIncompatibleMethodOverride]


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
