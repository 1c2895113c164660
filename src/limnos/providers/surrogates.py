"""Text from providers made fit for UTF-8: surrogate halves are joined or replaced."""

import re

_HALF = re.compile("[\ud800-\udfff]")


def whole(text: str) -> str:
    """`text` with paired surrogate halves joined and lone ones replaced by U+FFFD."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class HalfKeeper:
    """Joins pieces of one text when a surrogate pair is cut between two of them."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """What can be shown now; a first half at the end waits for the next piece."""
        text = self._half + piece
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole(text[: len(text) - len(self._half)])

    def close(self) -> str:
        """U+FFFD when a first half was left alone, otherwise nothing."""
        half, self._half = self._half, ""
        return whole(half)
