"""What is known of each document beside its text: where it stands, who said it, when, what it counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from limnos import lazy
from limnos.retrieval.lexicon import LARGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[lazy.numpy.bool_]
    Places = NDArray[lazy.numpy.intp]

_FIRST = 1024
NONE = -1


class Fact(NamedTuple):
    """Of one document. `session` and `speaker` count up from 0 (speaker -1: nobody in particular), `place` is
    its order inside the session, `time` seconds since 1970 UTC, `prior` is added to its score (-1 to 1).
    """

    session: int
    place: int
    speaker: int = NONE
    time: float = 0.0
    prior: float = 0.0


class Facts:
    """Arrays by document, and who stands next to whom. Not safe to be used from two threads at once."""

    def __init__(self) -> None:
        np = lazy.numpy
        self.session = np.zeros(_FIRST, np.intp)
        self.place = np.zeros(_FIRST, np.int64)
        self.speaker = np.full(_FIRST, NONE, np.int32)
        self.time = np.zeros(_FIRST, np.float64)
        self.prior = np.zeros(_FIRST, np.float32)
        self.known = np.zeros(_FIRST, np.bool_)
        # 0 for a known document, -inf for any other: added to a score, it keeps what is unknown out.
        self.floor = np.full(_FIRST, -np.inf, np.float32)
        # The document before and after in the same session; itself where there is none.
        self.before: Places = np.arange(_FIRST)
        self.after: Places = np.arange(_FIRST)
        self._last: dict[int, int] = {}  # by session
        self.count = self.limit = self.sessions = 0

    def add(self, doc: int, fact: Fact) -> None:
        """Know `fact` of `doc`, instead of what was known. Raises ValueError for a number out of range."""
        if not 0 <= doc < LARGEST or not 0 <= fact.session < LARGEST:
            raise ValueError(f"document {doc} of session {fact.session}: numbers go from 0 to {LARGEST - 1}")
        self.remove(doc)
        self._reserve(doc)
        self.session[doc], self.place[doc], self.speaker[doc] = fact.session, fact.place, fact.speaker
        self.time[doc], self.known[doc], self.floor[doc] = fact.time, True, 0
        self.prior[doc] = min(1.0, max(-1.0, fact.prior))
        self._link(doc, fact)
        self.count += 1
        self.limit = max(self.limit, doc + 1)
        self.sessions = max(self.sessions, fact.session + 1)

    def remove(self, doc: int) -> None:
        """Forget `doc`; those around it become neighbours. One that is not there changes nothing."""
        if not 0 <= doc < self.limit or not self.known[doc]:
            return
        before, after = int(self.before[doc]), int(self.after[doc])
        if after != doc:
            self.before[after] = before if before != doc else after
        elif before != doc:
            self._last[int(self.session[doc])] = before
        else:
            del self._last[int(self.session[doc])]
        if before != doc:
            self.after[before] = after if after != doc else before
        self.before[doc] = self.after[doc] = doc
        self.known[doc], self.floor[doc] = False, -lazy.numpy.inf
        self.count -= 1

    def set_prior(self, doc: int, prior: float) -> None:
        """Change what is added to the score of `doc`."""
        if 0 <= doc < self.limit:
            self.prior[doc] = min(1.0, max(-1.0, prior))

    def _link(self, doc: int, fact: Fact) -> None:
        """Put `doc` between its neighbours; nearly always it is the last of its session."""
        after, before = NONE, self._last.get(fact.session, NONE)
        while before != NONE and self.place[before] > fact.place:
            after, further = before, int(self.before[before])
            before = further if further != before else NONE
        if after == NONE:
            self._last[fact.session] = doc
        else:
            self.before[after], self.after[doc] = doc, after
        if before != NONE:
            self.after[before], self.before[doc] = doc, before

    def _reserve(self, doc: int) -> None:
        np = lazy.numpy
        have = len(self.known)
        if doc < have:
            return
        size = max(doc + 1, 2 * have)
        more = size - have
        self.session = np.append(self.session, np.zeros(more, np.intp))
        self.place = np.append(self.place, np.zeros(more, np.int64))
        self.speaker = np.append(self.speaker, np.full(more, NONE, np.int32))
        self.time = np.append(self.time, np.zeros(more, np.float64))
        self.prior = np.append(self.prior, np.zeros(more, np.float32))
        self.known = np.append(self.known, np.zeros(more, np.bool_))
        self.floor = np.append(self.floor, np.full(more, -np.inf, np.float32))
        self.before = np.append(self.before, np.arange(have, size))
        self.after = np.append(self.after, np.arange(have, size))
