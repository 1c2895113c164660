"""Whose words a text is made of, and whether they may be trusted; unions of that, which only grow."""

from collections.abc import Iterable
from typing import NamedTuple

from limnos.kernel.seams import parse_principal

PERSON, PERSONA = "person", "persona"
TRUSTED, UNTRUSTED = "trusted", "untrusted"
MOST_ORIGINS = 8


class Taint(NamedTuple):
    """`origins` in order of their names, at most 8 and then `…`; untrusted when one of them is."""

    origins: tuple[str, ...] = ()
    trusted: bool = True

    @property
    def origin(self) -> str:
        """The origins as one text."""
        return ", ".join(self.origins)

    @property
    def trust(self) -> str:
        """`trusted` or `untrusted`."""
        return TRUSTED if self.trusted else UNTRUSTED

    def __or__(self, other: "Taint") -> "Taint":
        if other.trusted >= self.trusted and set(other.origins) <= set(self.origins):
            return self
        return union((self, other))


NOTHING = Taint()


def union(taints: Iterable[Taint]) -> Taint:
    """What is made of all of `taints`."""
    names: set[str] = set()
    trusted = True
    for taint in taints:
        names.update(taint.origins)
        trusted = trusted and taint.trusted
    cut = "…" in names or len(names) > MOST_ORIGINS
    kept = sorted(names - {"…"})[:MOST_ORIGINS]
    return Taint((*kept, "…") if cut else tuple(kept), trusted)


def taint_of(origin: str, trust: str) -> Taint:
    """The taint that stands in a record."""
    return Taint(tuple(name for name in origin.split(", ") if name), trust == TRUSTED)


def of_speaker(principal: str) -> Taint:
    """What a person, or somebody in a channel, says."""
    if parse_principal(principal).is_owner:
        return Taint((PERSON,))
    return Taint((principal,), trusted=False)
