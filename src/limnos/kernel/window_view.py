"""What fills the window, as people look at it."""

from typing import NamedTuple


class WindowPart(NamedTuple):
    """One category of a request, and its tokens."""

    name: str
    tokens: int


class WindowUnit(NamedTuple):
    """A unit of the window. `state` is pinned, held, or empty; `about` is its beginning, one line."""

    id: str
    turn: int
    kind: str
    tokens: int
    state: str
    about: str


class ColdUnit(NamedTuple):
    """A unit that has left the window. `why` says what it was found by, empty in a plain list."""

    id: str
    time: str
    kind: str
    why: str
    about: str


class WindowView(NamedTuple):
    """The request that was sent last, and what the window holds now; all sizes in tokens.

    `cold` counts the units of this session that have left the window. `reuse` is the share of the last
    request's bytes that it repeated from the one before it, 0 to 1; negative while nobody knows.
    """

    used: int
    budget: int
    reserve: int
    parts: tuple[WindowPart, ...]
    units: tuple[WindowUnit, ...]
    cold: int
    reuse: float = -1.0
