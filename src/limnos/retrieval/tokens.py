"""Token counts without a network and without the model: o200k, the encoding of recent OpenAI models.

Other models differ by some tens of percent; callers correct by the usage that the provider reports.
"""

import threading
from collections.abc import Callable
from typing import Protocol, cast

from limnos import lazy

ENCODING = "o200k_base"
# The first tokens of a process are estimated, so that a short task never pays for loading the encoder,
# and so are texts below SHORT characters while it loads.
ESTIMATED = 4_000
SHORT = 20_000
# o200k has 3.3 to 4.3 bytes of UTF-8 a token: this counts too many rather than too few.
_BYTES_PER_TOKEN = 3


class Encoder(Protocol):
    """What is used of the tokeniser, which has no types of its own."""

    def count(self, text: str, /) -> int:
        """The tokens of `text`. Raises TypeError for a text that is no UTF-8."""
        ...


class _Loading:
    """The encoder, loaded once by a thread: 200,000 words in 0.4 s, without the interpreter's lock."""

    def __init__(self) -> None:
        self.encoder: Encoder | None = None
        self.estimated = 0
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def begin(self) -> threading.Thread:
        """Start loading, once."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._load, name="tokens")
                self._thread.start()
            return self._thread

    def estimate(self, text: str) -> int:
        """A count on the high side; begins to load when enough was estimated."""
        tokens = len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN
        self.estimated += tokens
        if self.estimated > ESTIMATED:
            self.begin()
        return tokens

    def wait(self) -> Encoder:
        """The encoder, when it is there."""
        self.begin().join()
        assert self.encoder is not None
        return self.encoder

    def _load(self) -> None:
        load = cast("Callable[[str], Encoder]", lazy.quicktok.get_encoding)  # pyright: ignore[reportUnknownMemberType]
        self.encoder = load(ENCODING)


_LOADING = _Loading()


def encoder() -> Encoder:
    """The encoder; waits for it."""
    return _LOADING.encoder or _LOADING.wait()


def count(text: str) -> int:
    """The tokens of `text`: 0.4 µs for a line, 4 ms a megabyte. Special tokens count as plain text.

    The first 4,000 tokens of a process are estimated from their bytes, on the high side.
    """
    if _LOADING.encoder is None and len(text) <= SHORT:
        return _LOADING.estimate(text)
    try:
        return encoder().count(text)
    except TypeError:  # a lone surrogate: no UTF-8
        return encoder().count(text.encode("utf-8", "replace").decode("utf-8"))
