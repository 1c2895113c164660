"""An inverted index that grows by a document at a time and is never rebuilt: BM25 and exact look-ups.

Postings live in immutable segments, merged as their sizes meet, and in a small head of the newest documents.
A turn that adds a document costs what the document costs; a merge costs each posting about a dozen copies in
the life of the index. Documents are integers that count up from 0 without large gaps: arrays are as long as
the largest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from limnos import lazy
from limnos.retrieval import segments
from limnos.retrieval.segments import Segment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from limnos.retrieval.segments import Bytes, Docs

    Floats = NDArray[lazy.numpy.float32]
    _Postings = tuple[Docs, Bytes]

K1, B = 0.9, 0.4
LARGEST = 1 << 26
_HEAD_DOCS = 128
# A segment of this many postings is merged no more, so that no merge takes longer than some 30 ms.
_LARGEST_MERGE = 1 << 20
# In a store of this many documents, a term that more than a third of them have decides nothing beside others.
_LARGE, _COMMON = 10_000, 3
_HASHED = 20_000


class Scored(NamedTuple):
    """`docs` (n,) int32 with their `scores` (n,) float32, best first; equal ones by number, newest first."""

    docs: Docs
    scores: Floats


class Lexicon:
    """The words and exact tokens of documents. Not safe to be used from two threads at once."""

    def __init__(self) -> None:
        np = lazy.numpy
        self._segments: list[Segment] = []
        self._head: dict[int, list[tuple[int, int]]] = {}
        self._head_docs: dict[int, list[int]] = {}
        self._lengths = np.zeros(1024, np.int32)  # by document
        self._alive = np.zeros(1024, np.bool_)
        self._dead = np.zeros(1024, np.bool_)  # removed, but still in a segment
        self._terms = 0
        self._hashes: dict[str, int] = {}
        self.count = 0
        self.limit = 0

    def add(self, doc: int, terms: Sequence[str], exact: Iterable[str] = ()) -> None:
        """Index `doc`. One that is there already is replaced. Raises ValueError for a number out of range."""
        if not 0 <= doc < LARGEST:
            raise ValueError(f"documents are numbered from 0 to {LARGEST - 1}, not {doc}")
        self._reserve(doc)
        if self._alive[doc]:
            self.remove(doc)
        if self._dead[doc]:
            self._purge()
        keys: list[int] = []
        for term, times in Counter(terms).items():
            key = self._hash(term)
            self._head.setdefault(key, []).append((doc, min(times, 255)))
            keys.append(key)
        for token in dict.fromkeys(exact):
            key = self._hash(f"\0{token}")
            self._head.setdefault(key, []).append((doc, 1))
            keys.append(key)
        self._head_docs[doc] = keys
        self._lengths[doc], self._alive[doc] = len(terms), True
        self._terms += len(terms)
        self.count += 1
        self.limit = max(self.limit, doc + 1)
        if len(self._head_docs) >= _HEAD_DOCS:
            self._flush()

    def remove(self, doc: int) -> None:
        """Forget `doc`; it is in no answer and in no later dump. One that is not there changes nothing."""
        if not 0 <= doc < len(self._alive) or not self._alive[doc]:
            return
        self._terms -= int(self._lengths[doc])
        self._alive[doc], self._lengths[doc] = False, 0
        self.count -= 1
        keys = self._head_docs.pop(doc, None)
        if keys is None:
            self._dead[doc] = True
            return
        for key in keys:
            left = [one for one in self._head[key] if one[0] != doc]
            if left:
                self._head[key] = left
            else:
                del self._head[key]

    def __contains__(self, doc: object) -> bool:
        return isinstance(doc, int) and 0 <= doc < len(self._alive) and bool(self._alive[doc])

    def scores(self, terms: Iterable[str], weights: Sequence[float] | None = None) -> Floats:
        """BM25 of every document by its number, (limit,) float32; 0 where no term occurs.

        A repeated term counts once. `weights` are factors, one a term.
        """
        np = lazy.numpy
        wanted: dict[str, float] = {}
        for place, term in enumerate(terms):
            wanted.setdefault(term, 1.0 if weights is None else weights[place])
        total = np.zeros(self.limit, np.float32)
        if not self.count or not wanted:
            return total
        mean = max(1.0, self._terms / self.count)
        norm = (self._lengths[: self.limit] * np.float32(K1 * B / mean) + np.float32(K1 * (1 - B))).astype(
            np.float32
        )
        found = self._pieces([self._hash(term) for term in wanted])
        holders = [sum(len(docs) for docs, _ in pieces) for pieces in found]
        common = self._common(holders)
        for pieces, number, factor in zip(found, holders, wanted.values(), strict=True):
            if number > common:
                continue
            gain = np.float32(self.rarity(number) * factor * (K1 + 1))
            for docs, counts in pieces:
                # measured: twice as fast as indexing with 32-bit numbers
                at, times = docs.astype(np.intp), counts.astype(np.float32)
                share = norm.take(at, mode="clip")
                share += times
                np.divide(times, share, out=share)
                share *= gain
                np.add.at(total, at, share)
        if self._dead.any():
            total[self._dead[: self.limit]] = 0
        return total

    def _common(self, holders: Sequence[int]) -> int:
        """How many holders a term may have at most to be worth the work."""
        bound = self.count // _COMMON
        decided = self.count >= _LARGE and any(0 < number <= bound for number in holders)
        return bound if decided else LARGEST

    def rarity(self, holders: int) -> float:
        """The inverse document frequency of what `holders` documents have: ln(1 + (N - n + ½) ÷ (n + ½))."""
        return math.log(1 + (max(self.count, holders) - holders + 0.5) / (holders + 0.5))

    def frequency(self, term: str) -> int:
        """How many documents have `term`."""
        return len(self._found(self._hash(term)))

    def score(self, terms: Iterable[str], k: int) -> Scored:
        """The best `k` documents that have one of `terms`."""
        return best(self.scores(terms), k)

    def holders(self, token: str) -> Docs:
        """The documents that have the exact token, in ascending order; none is missing, none too many."""
        np = lazy.numpy
        docs = self._found(self._hash(f"\0{token}"))
        return np.sort(docs[self._alive[docs]])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the segments that `dump` knows now; anything else that was stored may go."""
        self._flush()
        self._purge()
        return tuple(one.name for one in self._segments)

    def dump(self, known: Collection[str] = ()) -> dict[str, bytes]:
        """The segments whose names are not in `known`, as bytes. Nothing of a removed document is in them."""
        names = self.names
        return {
            one.name: one.dump() for name, one in zip(names, self._segments, strict=True) if name not in known
        }

    def load(self, dumped: Iterable[bytes]) -> None:
        """Take in segments that `dump` wrote, into an empty lexicon.

        Raises ValueError for bytes that are no segment, or when a document is in two of them.
        """
        np = lazy.numpy
        for data in dumped:
            one = segments.load(data)
            if not len(one.members):
                continue
            highest = max(int(one.members.max()), int(one.docs.max(initial=0)))
            if min(int(one.members.min()), int(one.docs.min(initial=0))) < 0 or highest >= LARGEST:
                raise ValueError("a segment of words with a document out of range")
            self._reserve(highest)
            if self._alive[one.members].any():
                raise ValueError("a document is in two segments of words")
            self._segments.append(one)
            self._lengths[one.members] = one.lengths
            self._alive[one.members] = True
            self.limit = max(self.limit, int(one.members.max()) + 1)
        self.count = int(np.count_nonzero(self._alive))
        self._terms = int(self._lengths.sum(dtype=np.int64))
        self._segments.sort(key=lambda one: -len(one.docs))

    def _hash(self, term: str) -> int:
        found = self._hashes.get(term)
        if found is None:
            if len(self._hashes) >= _HASHED:
                self._hashes.clear()
            digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            found = self._hashes[term] = int.from_bytes(digest, "little")
        return found

    def _found(self, key: int) -> Docs:
        np = lazy.numpy
        return np.concatenate([np.empty(0, np.int32), *(docs for docs, _ in self._pieces([key])[0])])

    def _pieces(self, keys: Sequence[int]) -> list[list[_Postings]]:
        """The postings of each key, by segment; a document that was removed may still be among them."""
        np = lazy.numpy
        wanted = np.array(keys, np.uint64)
        pieces: list[list[_Postings]] = [[] for _ in keys]
        for one in self._segments:
            places = np.searchsorted(one.keys, wanted)
            places[places == len(one.keys)] = 0
            for index in np.flatnonzero(one.keys[places] == wanted) if len(one.keys) else ():
                begin, end = one.starts[places[index]], one.starts[places[index] + 1]
                pieces[index].append((one.docs[begin:end], one.counts[begin:end]))
        for key, found in zip(keys, pieces, strict=True):
            if head := self._head.get(key):
                docs, counts = zip(*head, strict=True)
                found.append((np.array(docs, np.int32), np.array(counts, np.uint8)))
        return pieces

    def _flush(self) -> None:
        """Make a segment of the head, and merge those whose sizes have met."""
        np = lazy.numpy
        if not self._head_docs:
            return
        postings = [(key, doc, times) for key, found in self._head.items() for doc, times in found]
        members = np.array(list(self._head_docs), np.int32)
        self._segments.append(
            segments.build(
                np.array([one[0] for one in postings], np.uint64),
                np.array([one[1] for one in postings], np.int32),
                np.array([one[2] for one in postings], np.uint8),
                (members, self._lengths[members]),
            )
        )
        self._head.clear()
        self._head_docs.clear()
        while len(self._segments) > 1 and self._meets(
            len(self._segments[-2].docs), len(self._segments[-1].docs)
        ):
            self._segments[-2:] = [segments.merge(self._segments[-2:])]

    @staticmethod
    def _meets(older: int, newer: int) -> bool:
        return older < 2 * newer and older + newer <= _LARGEST_MERGE

    def _purge(self) -> None:
        """Take what was removed out of the segments."""
        if not self._dead.any():
            return
        touched = [bool(self._dead[one.members].any()) for one in self._segments]
        self._segments = [
            segments.without(one, self._dead) if dirty else one
            for one, dirty in zip(self._segments, touched, strict=True)
        ]
        self._segments = [one for one in self._segments if len(one.members)]
        self._dead[:] = False

    def _reserve(self, doc: int) -> None:
        np = lazy.numpy
        if doc < len(self._alive):
            return
        more = max(doc + 1, 2 * len(self._alive)) - len(self._alive)
        self._lengths = np.append(self._lengths, np.zeros(more, np.int32))
        self._alive = np.append(self._alive, np.zeros(more, np.bool_))
        self._dead = np.append(self._dead, np.zeros(more, np.bool_))


def best(scores: Floats, k: int) -> Scored:
    """The `k` largest positive `scores`, by their places; of equal ones the later place first."""
    np = lazy.numpy
    docs = np.flatnonzero(scores > 0)
    if 0 < k < len(docs):
        edge = np.partition(scores[docs], len(docs) - k)[len(docs) - k]
        docs = docs[scores[docs] >= edge]
    order = np.lexsort((-docs, -scores[docs]))[: max(0, k)]
    docs = docs[order]
    return Scored(docs.astype(np.int32), scores[docs])
