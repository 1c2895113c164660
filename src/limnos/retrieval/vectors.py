"""Dense vectors of documents, compared after the mean of the store was taken out of them.

Texts of one embedder all point the same way: without the mean out, unrelated pairs score 0.65 to 0.83. The
mean belongs to the embedder's fingerprint and is taken anew whenever the store has doubled, so that scores do
not move at every turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from limnos import lazy
from limnos.retrieval.lexicon import LARGEST, Scored, best

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Docs = NDArray[lazy.numpy.int32]
    Floats = NDArray[lazy.numpy.float32]

# Rows of a block: growing copies nothing of what is there, and memory nobody wrote to costs nothing.
_BLOCK = 8192
# A mean of few rows is drawn towards nothing, as if this many more rows of zeros were there.
_PRIOR = 8
MISSING = float("-inf")


class Vectors:
    """Rows of `dimensions` float32 by document, all of the embedder with this `fingerprint`.

    Documents count up from 0 without large gaps. Not safe to be used from two threads at once.
    """

    def __init__(self, dimensions: int, fingerprint: str) -> None:
        np = lazy.numpy
        self.dimensions = dimensions
        self.fingerprint = fingerprint
        self.count = 0
        self._blocks: list[Floats] = []
        self._docs = np.zeros(1024, np.int32)  # by row
        self._rows = np.full(1024, -1, np.int32)  # by document
        self._scale = np.zeros(1024, np.float32)  # by row: 1 ÷ length of the centred row
        self._sum = np.zeros(dimensions, np.float64)
        self._mean = np.zeros(dimensions, np.float32)
        self._mean_of = 0

    @property
    def mean(self) -> Floats:
        """What is taken out of every row and of every query, (dimensions,) float32."""
        return self._mean

    def add(self, docs: Sequence[int], rows: Floats) -> None:
        """Keep the rows (n, dimensions) of `docs`; one that is there is replaced. They are made unit vectors.

        Raises ValueError, and keeps none, when the shape is another, a number is out of range or a value is
        not finite. A row of zeros is like no text.
        """
        np = lazy.numpy
        rows = np.asarray(rows, np.float32)
        if rows.shape != (len(docs), self.dimensions):
            raise ValueError(f"vectors of shape {rows.shape}, not ({len(docs)}, {self.dimensions})")
        if any(not 0 <= doc < LARGEST for doc in docs):
            raise ValueError(f"documents are numbered from 0 to {LARGEST - 1}")
        if not np.isfinite(rows).all():
            raise ValueError("a vector with a value that is no finite number")
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        rows = (rows / np.maximum(lengths, 1e-12)[:, None]).astype(np.float32)
        for doc, row in zip(docs, rows, strict=True):
            self.remove(doc)
            self._append(doc, row)
        if self.count >= 2 * self._mean_of:
            self.recentre()
        else:
            first = self.count - len(docs)
            self._rescale(max(0, first), self.count)

    def remove(self, doc: int) -> None:
        """Forget the row of `doc`: its place is written over. One that is not there changes nothing."""
        row = self._row(doc)
        if row < 0:
            return
        self.count -= 1
        last = self.count
        self._sum -= self._at(row)
        moved = int(self._docs[last])
        self._at(row)[:] = self._at(last)
        self._at(last)[:] = 0
        self._docs[row], self._scale[row] = moved, self._scale[last]
        self._rows[moved] = row
        self._rows[doc] = -1

    def __contains__(self, doc: object) -> bool:
        return isinstance(doc, int) and self._row(doc) >= 0

    def row(self, doc: int) -> Floats | None:
        """The unit vector of `doc`, (dimensions,) float32, or None."""
        row = self._row(doc)
        return self._at(row).copy() if row >= 0 else None

    def recentre(self) -> None:
        """Take the mean anew."""
        np = lazy.numpy
        self._mean = (self._sum / (self.count + _PRIOR)).astype(np.float32)
        self._mean_of = self.count
        self._rescale(0, self.count)

    def scores(self, query: Floats, limit: int) -> Floats:
        """The centred cosine of each document below `limit` with `query`; -inf where there is no row.

        Raises ValueError for a query of another length or with a value that is not finite.
        """
        np = lazy.numpy
        by_row = self._product(query)
        found = np.full(limit, MISSING, np.float32)
        docs = self._docs[: self.count]
        if limit <= int(docs.max(initial=-1)):
            inside = docs < limit
            docs, by_row = docs[inside], by_row[inside]
        found[docs] = by_row
        return found

    def top(self, query: Floats, k: int) -> Scored:
        """The `k` documents most like `query`, best first, with their centred cosines."""
        np = lazy.numpy
        by_row = self._product(query)
        rows = best(by_row + np.float32(2), k).docs  # a cosine is above -2
        return Scored(self._docs[rows], by_row[rows])

    def _product(self, query: Floats) -> Floats:
        np = lazy.numpy
        query = np.asarray(query, np.float32)
        if query.shape != (self.dimensions,) or not np.isfinite(query).all():
            raise ValueError(f"a query is {self.dimensions} finite numbers, not of shape {query.shape}")
        unit = query / max(float(np.linalg.norm(query)), 1e-12)
        asked = unit - self._mean
        asked = (asked / max(float(np.linalg.norm(asked)), 1e-12)).astype(np.float32)
        found = np.empty(self.count, np.float32)
        for start in range(0, self.count, _BLOCK):
            end = min(self.count, start + _BLOCK)
            np.dot(self._blocks[start // _BLOCK][: end - start], asked, out=found[start:end])
        found -= np.float32(self._mean @ asked)
        found *= self._scale[: self.count]
        return found

    def _rescale(self, begin: int, end: int) -> None:
        """Know the lengths of the centred rows from `begin` to `end`."""
        np = lazy.numpy
        for start in range(begin - begin % _BLOCK, end, _BLOCK):
            low, high = max(begin, start), min(end, start + _BLOCK)
            centred = self._blocks[start // _BLOCK][low - start : high - start] - self._mean
            lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred))
            self._scale[low:high] = 1 / np.maximum(lengths, 1e-6)

    def _append(self, doc: int, row: Floats) -> None:
        np = lazy.numpy
        place = self.count
        if place == len(self._docs):
            self._docs = np.append(self._docs, np.zeros(place, np.int32))
            self._scale = np.append(self._scale, np.zeros(place, np.float32))
        if doc >= len(self._rows):
            more = max(doc + 1, 2 * len(self._rows)) - len(self._rows)
            self._rows = np.append(self._rows, np.full(more, -1, np.int32))
        if place // _BLOCK == len(self._blocks):
            self._blocks.append(np.empty((_BLOCK, self.dimensions), np.float32))
        self._at(place)[:] = row
        self._docs[place], self._rows[doc] = doc, place
        self._sum += row
        self.count += 1

    def _row(self, doc: int) -> int:
        return int(self._rows[doc]) if 0 <= doc < len(self._rows) else -1

    def _at(self, row: int) -> Floats:
        return self._blocks[row // _BLOCK][row % _BLOCK]
