"""Vectors without a model: words hashed to directions. For tests, and for machines where no model runs.

Texts that share words, or parts of words, are alike; meaning is not seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING

from limnos import lazy
from limnos.retrieval.embedder import EmbedderUnavailableError, cleaned
from limnos.retrieval.words import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[lazy.numpy.float32]

_DIMENSIONS = 256
_PART = 3
_PART_WEIGHT = 0.3


class Hashing:
    """An `Embedder` that needs nothing and is the same everywhere."""

    def __init__(self, dimensions: int = _DIMENSIONS) -> None:
        self._dimensions = dimensions
        self._closed = False

    @property
    def fingerprint(self) -> str:
        """See `Embedder`."""
        return f"hashing-1-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        """See `Embedder`."""
        return self._dimensions

    async def passages(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        np = lazy.numpy
        self._require_open()
        rows = np.zeros((len(texts), self._dimensions), np.float32)
        for place, text in enumerate(texts):
            rows[place] = self._row(text)
            await asyncio.sleep(0)
        return rows

    async def query(self, text: str) -> Floats:
        """See `Embedder`."""
        self._require_open()
        return self._row(text)

    async def close(self) -> None:
        """See `Embedder`."""
        self._closed = True

    def _row(self, text: str) -> Floats:
        np = lazy.numpy
        row = np.zeros(self._dimensions, np.float32)
        for term in terms(cleaned(text)):
            self._put(row, term, 1.0)
            for start in range(len(term) - _PART + 1):
                self._put(row, f"\0{term[start : start + _PART]}", _PART_WEIGHT)
        length = float(np.linalg.norm(row))
        if not length:
            row[0] = length = 1.0
        return row / np.float32(length)

    def _put(self, row: Floats, word: str, weight: float) -> None:
        number = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
        row[(number >> 1) % self._dimensions] += weight if number & 1 else -weight

    def _require_open(self) -> None:
        if self._closed:
            raise EmbedderUnavailableError("the embedder was closed", "open it again")
