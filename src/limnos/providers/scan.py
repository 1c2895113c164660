"""Where JSON objects begin and end in a text that grows, without reading what is in them."""

import re
from itertools import pairwise

_MARK = re.compile(r'["\\{}\[\]]')


class ObjectScanner:
    """Follows brackets and strings over fragments, each character once.

    A text is `blank` (nothing but white space yet), `complete` (one or more whole values, nothing after
    them) or `open` (in the middle of a value, or not JSON).
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._depth = 0
        self._in_string = False
        self._escaped = -1
        self._ends: list[int] = []
        self._tail_blank = True

    @property
    def text(self) -> str:
        """Everything so far."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    @property
    def blank(self) -> bool:
        """Nothing but white space came."""
        return not self._ends and self._tail_blank

    @property
    def complete(self) -> bool:
        """Whole values came and nothing is open."""
        return bool(self._ends) and self._tail_blank

    @property
    def open(self) -> bool:
        """A value began that has not ended."""
        return not self._tail_blank

    def feed(self, fragment: str) -> None:
        """Take in the next fragment."""
        last_end = 0
        for mark in _MARK.finditer(fragment):
            place, sign = mark.start(), mark.group()
            if self._in_string:
                self._inside_string(place, sign)
            elif sign == '"':
                self._in_string = True
            elif self._bracket(sign):
                last_end = place + 1
                self._ends.append(self._length + last_end)
        blank = not fragment[last_end:].strip()
        self._tail_blank = blank and (bool(last_end) or self._tail_blank)
        self._parts.append(fragment)
        self._length += len(fragment)
        self._escaped = max(self._escaped - len(fragment), -1)

    def pieces(self) -> list[str]:
        """The values that were glued together, an unfinished one last.

        One piece, the whole text, unless every piece begins as an object: what can't be told apart is
        not taken apart.
        """
        text = self.text
        cuts = [0, *self._ends]
        pieces = [text[start:end] for start, end in pairwise(cuts)]
        if not self._tail_blank:
            pieces.append(text[cuts[-1] :])
        if len(pieces) < 2 or not all(piece.lstrip().startswith("{") for piece in pieces):
            return [text]
        return pieces

    def _inside_string(self, place: int, sign: str) -> None:
        if place == self._escaped:
            return
        if sign == "\\":
            self._escaped = place + 1
        elif sign == '"':
            self._in_string = False

    def _bracket(self, sign: str) -> bool:
        """Count a bracket; whether it closed a value of the top level."""
        self._depth += 1 if sign in "{[" else -1
        return self._depth == 0
