"""What is found in memory, as it is handed out."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


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


class Scored(NamedTuple):
    """How relevant a unit is, 0 to 1, comparable inside one call only; `terms` are its shares."""

    score: float
    terms: Mapping[str, float]


class Identifier(NamedTuple):
    """A rare value and the unit it was seen in last.

    `said`: it stood in a message of a person or in the arguments of a call. `units` says in how many.
    """

    token: str
    unit: str
    said: bool
    trust: str = "untrusted"
    units: int = 1


class Answer(NamedTuple):
    """What a search found, best first.

    `missing` are the exact tokens of the query that occur nowhere in the store: of these there is no record.
    `note` says what was left out, empty when nothing was.
    """

    hits: Sequence[Hit]
    missing: tuple[str, ...] = ()
    note: str = ""


class Quotation(NamedTuple):
    """A bounded copy of a unit of another session; `cut` when there is more of it."""

    unit: str
    time: str
    text: str
    origin: str
    trust: str
    cut: bool
