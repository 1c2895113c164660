"""A lexicon that is asked the same several times in a turn: to recall, to weigh, to say what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from limnos import lazy
from limnos.retrieval.lexicon import Lexicon

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Docs = NDArray[lazy.numpy.int32]
    Floats = NDArray[lazy.numpy.float32]

_HELD = 256  # exact tokens


class RememberingLexicon(Lexicon):
    """Keeps its newest answers until a document comes or goes. Nobody may change the arrays it gives."""

    def __init__(self) -> None:
        super().__init__()
        self._forget()

    def _forget(self) -> None:
        self._asked: tuple[tuple[str, ...], Sequence[float] | None] | None = None
        self._scores: Floats = lazy.numpy.zeros(0, lazy.numpy.float32)
        self._held: dict[str, Docs] = {}

    def add(self, doc: int, terms: Sequence[str], exact: Iterable[str] = ()) -> None:
        """See `Lexicon`."""
        self._forget()
        super().add(doc, terms, exact)

    def remove(self, doc: int) -> None:
        """See `Lexicon`."""
        self._forget()
        super().remove(doc)

    def load(self, dumped: Iterable[bytes]) -> None:
        """See `Lexicon`."""
        self._forget()
        super().load(dumped)

    def scores(self, terms: Iterable[str], weights: Sequence[float] | None = None) -> Floats:
        """See `Lexicon`."""
        asked = (tuple(terms), weights)
        if asked != self._asked:
            self._scores, self._asked = super().scores(*asked), asked
        return self._scores

    def holders(self, token: str) -> Docs:
        """See `Lexicon`."""
        found = self._held.get(token)
        if found is None:
            if len(self._held) >= _HELD:
                self._held.clear()
            found = self._held[token] = super().holders(token)
        return found
