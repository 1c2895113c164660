"""The one secret scanner: finds what must not be stored, shown or sent. A heuristic, never a boundary.

Known kinds of keys, labelled values, and the values that are configured as secrets, also where they are
encoded, compressed, split over lines or pieces, or hold invisible characters or markup.
"""

import codecs
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from limnos.sdk import secret_shapes as shapes
from limnos.sdk.encoded import View, decoded, readings, squeezed
from limnos.sdk.spellings import spellings

SHORTEST = 4  # of a configured value: a shorter one would hide half of every text
MAX_TEXT = 4_000_000  # characters that are scanned at once
DEPTH = 3  # encodings inside one another
LEAST_SQUEEZED = 12  # letters and digits of a value that is also found taken apart


class Found(NamedTuple):
    """A secret in a text: its place as a half-open range of characters, and its kind."""

    start: int
    end: int
    kind: str


class Scanner:
    """Finds secrets; `configured` are values that are secrets whatever they look like."""

    def __init__(self, configured: Iterable[str] = ()) -> None:
        self._configured = tuple(
            sorted({one for one in configured if len(one) >= SHORTEST}, key=len, reverse=True)
        )
        # with other signs between, in other case, turned round: only of values that no sentence holds
        bare = {"".join(filter(str.isalnum, one.lower())) for one in self._configured}
        self._squeezed = tuple(one for one in bare if len(one) >= LEAST_SQUEEZED)
        turned = [form for one in self._configured for form in (one[::-1], codecs.encode(one, "rot13"))]
        written = [form for one in self._configured for form in spellings(one)]
        self._written = (*written, *(one for one in turned if len(one) >= LEAST_SQUEEZED))

    def find(self, text: str) -> list[Found]:
        """All secrets in `text`, in order, none overlapping."""
        found: list[Found] = []
        for begin in range(0, max(len(text), 1), MAX_TEXT):
            piece = text[begin : begin + MAX_TEXT + MAX_TEXT // 100]
            inside = chain(self._in(piece, DEPTH), self._taken_apart(piece))
            found += [Found(one.start + begin, one.end + begin, one.kind) for one in inside]
        return _merged(found)

    def hide(self, text: str) -> str:
        """`text` with a note in the place of each secret."""
        pieces: list[str] = []
        last = 0
        for one in self.find(text):
            pieces += [text[last : one.start], f"[hidden: {one.kind}]"]
            last = one.end
        return "".join([*pieces, text[last:]]) if pieces else text

    def _in(self, text: str, depth: int) -> Iterator[Found]:
        yield from self._plain(text)
        last: View | None = None
        for view in readings(text):
            yield from (_back(view, one) for one in self._plain(view.text, joined=view.joined))
            last = view
        if not depth:
            return
        pieces = chain(decoded(text), decoded(last.text, last) if last is not None else ())
        for piece in pieces:
            yield from (_back(piece, one) for one in self._in(piece.text, depth - 1))

    def _taken_apart(self, text: str) -> Iterator[Found]:
        view = squeezed(text) if self._squeezed else None
        if view is not None:
            yield from (_back(view, one) for one in _values(view.text, self._squeezed))

    def _plain(self, text: str, *, joined: bool = False) -> Iterator[Found]:
        yield from _values(text, self._written)
        yield from _known(text)
        yield from _labelled(text, joined=joined)


def _values(text: str, values: Iterable[str]) -> Iterator[Found]:
    for value in values:
        place = text.find(value)
        while place >= 0:
            yield Found(place, place + len(value), "configured value")
            place = text.find(value, place + len(value))


def _known(text: str) -> Iterator[Found]:
    for shape in (*shapes.KNOWN, *shapes.PLACED):
        if shape.hints and not any(hint in text for hint in shape.hints):
            continue
        for match in shape.expression.finditer(text):
            group = "secret" if "secret" in shape.expression.groupindex else 0
            value = match[group]
            if shape.random and (shapes.is_placeholder(value) or not shapes.is_random(value)):
                continue
            yield Found(*match.span(group), shape.kind)
    for match in shapes.USERINFO.finditer(text) if "://" in text else ():
        if not shapes.is_placeholder(match["secret"]):
            yield Found(*match.span("secret"), "password")


def _labelled(text: str, *, joined: bool) -> Iterator[Found]:
    """Values behind a name that says what they are; where lines were joined only those in disorder count."""
    for name in shapes.NAME.finditer(text):
        before = shapes.BEFORE_NAME.search(text, max(0, name.start() - 40), name.start())
        label = (before[0] if before else "") + name[0]
        given = shapes.ASSIGNED.match(text, name.end())
        if (
            given
            and (not joined or shapes.is_random(given["secret"]))
            and not shapes.names_no_secret(label + given["rest"])
            and shapes.is_password(label, given["secret"], quoted=bool(given["quote"]))
        ):
            yield Found(*given.span("secret"), "password")
        said = shapes.SAID.match(text, name.end())
        if said and shapes.is_random(said["secret"]) and not shapes.is_placeholder(said["secret"]):
            yield Found(*said.span("secret"), "secret")


def _back(view: View, one: Found) -> Found:
    """Where what was found in a decoded text stands in the original."""
    start, end = view.place(one.start, one.end)
    return Found(start, end, one.kind)


def _merged(found: Sequence[Found]) -> list[Found]:
    merged: list[Found] = []
    for one in sorted(found):
        if merged and one.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(one.end, merged[-1].end))
        else:
            merged.append(one)
    return merged
