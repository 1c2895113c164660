"""What turns texts into vectors, as the memory sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from limnos import lazy
from limnos.kernel.errors import LimnosError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[lazy.numpy.float32]

# What is looked at of a text before its tokens are counted, and what of that can be 256 tokens.
_READ_CHARS = 16_000
TEXT_CHARS = 1_600
_BEFORE_CHARS = 320


class EmbedderUnavailableError(LimnosError):
    """No vector now: the process died, nothing answers, a time limit passed. Words are still found."""


class Embedder(Protocol):
    """Gives vectors of texts. Belongs to one event loop; may be asked by several tasks at once.

    `fingerprint` names model, version and what of a text is embedded: vectors of two fingerprints are never
    compared. `dimensions` is the length of a vector.

    An implementation may not raise anything but `EmbedderUnavailableError`, may not keep a query waiting for
    passages that others asked for, and may not let the vector of a text depend on what stands beside it in
    the list. It takes any string: of long ones the beginning counts, what is no UTF-8 is replaced.
    """

    @property
    def fingerprint(self) -> str:
        """Known without loading anything."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        ...

    async def passages(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (n, d) float32 of texts to be found. Raises `EmbedderUnavailableError`."""
        ...

    async def query(self, text: str) -> Floats:
        """The unit vector (d,) float32 of a question. Raises `EmbedderUnavailableError`."""
        ...

    async def close(self) -> None:
        """Give back what it holds; may be called twice. Whoever asks after that is refused."""
        ...


def cleaned(text: str, limit: int = TEXT_CHARS) -> str:
    """The beginning of `text` on one line, as UTF-8 can hold it, at most `limit` characters."""
    whole = text[:_READ_CHARS].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return " ".join(whole.split())[:limit]


def passage(text: str, before: str = "") -> str:
    """What to embed of a text that followed `before`: the end of that, and then the text.

    Measured on conversations: an answer is found better together with what it answers (recall at 5 by
    2 points).
    """
    end = " ".join(before[-_READ_CHARS:].split())[-_BEFORE_CHARS:]
    return f"{end}\n{text}" if end else text
