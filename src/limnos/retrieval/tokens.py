"""Token counts without a network and without the model: o200k, the encoding of recent OpenAI models.

Other models differ by some tens of percent; callers correct by the usage that the provider reports.
"""

from collections.abc import Callable
from functools import cache
from typing import Protocol, cast

from limnos import lazy

ENCODING = "o200k_base"


class Encoder(Protocol):
    """What is used of the tokeniser, which has no types of its own."""

    def count(self, text: str, /) -> int:
        """The tokens of `text`. Raises TypeError for a text that is no UTF-8."""
        ...


@cache
def encoder() -> Encoder:
    """The encoder. The first call reads 200,000 words in 0.4 s without holding the interpreter's lock, so
    a thread can do it while something else starts.
    """
    load = cast("Callable[[str], Encoder]", lazy.quicktok.get_encoding)  # pyright: ignore[reportUnknownMemberType]
    return load(ENCODING)


def count(text: str) -> int:
    """The tokens of `text`: 0.4 µs for a line, 4 ms a megabyte. Special tokens count as plain text."""
    try:
        return encoder().count(text)
    except TypeError:  # a lone surrogate: no UTF-8
        return encoder().count(text.encode("utf-8", "replace").decode("utf-8"))
