"""An embedder of words by their digests: alike texts have alike vectors, the same everywhere."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from limnos.kernel.errors import LimnosError
from limnos.retrieval.words import terms


class WordEmbedder:
    """`synonyms` have the vector of what they stand for. It waits while `gate` is not set."""

    def __init__(
        self, synonyms: dict[str, str] | None = None, name: str = "words-1", dimensions: int = 64
    ) -> None:
        self.fingerprint = name
        self.dimensions = dimensions
        self.synonyms = {terms(a)[0]: terms(b)[0] for a, b in (synonyms or {}).items()}
        self.gate: asyncio.Event | None = None
        self.broken = False
        self.embedded: list[str] = []

    async def passages(self, texts: Sequence[str]) -> Any:
        await self._ready()
        self.embedded += texts
        return np.stack([self._of(text) for text in texts])

    async def query(self, text: str) -> Any:
        await self._ready()
        return self._of(text)

    async def close(self) -> None:
        pass

    async def _ready(self) -> None:
        if self.gate is not None:
            await self.gate.wait()
        if self.broken:
            raise LimnosError("the embedder is gone", "start it")

    def _of(self, text: str) -> Any:
        total = np.zeros(self.dimensions, np.float32)
        for term in terms(text):
            digest = hashlib.sha256(self.synonyms.get(term, term).encode()).digest()
            total += np.random.default_rng(int.from_bytes(digest[:8], "big")).standard_normal(self.dimensions)
        return (total / max(float(np.linalg.norm(total)), 1e-9)).astype(np.float32)
