"""Exact replacement in a file: nothing outside the replaced text changes by a byte."""

import codecs
import re
from bisect import bisect_left
from typing import Literal, NamedTuple, TypeAlias

from limnos.sdk.texts import marked

EditFault: TypeAlias = Literal["not_found", "not_unique", "empty_old", "no_change", "binary", "encoding"]
_CODECS = (
    "utf-8", "utf-16", "utf-32", "ascii", "iso8859", "latin", "cp", "koi8", "mac-", "gb", "hz", "big5",
    "euc", "shift", "johab", "tis-620", "iso2022", "ptcp",
)  # fmt: skip
_LONE = re.compile("[\udc80-\udcff]")


class EditError(ValueError):
    """An edit that cannot be made; the file stays as it is. `fault` is the class of the reason."""

    def __init__(self, fault: EditFault, detail: str, hint: str) -> None:
        super().__init__(detail)
        self.fault: EditFault = fault
        self.detail = detail
        self.hint = hint


class Edited(NamedTuple):
    """The new bytes, how many places changed, and the line (from 1) of the first."""

    data: bytes
    places: int
    line: int


def replace_exactly(
    data: bytes, old: str, new: str, *, replace_all: bool = False, encoding: str | None = None
) -> Edited:
    """Replace `old` by `new` in `data`, once, or everywhere with `replace_all`.

    LF in `old` stands for LF and CRLF alike; new lines take the line end of the place. A byte order mark and
    a missing last newline stay. Without `encoding` the bytes are read as their mark says, else as UTF-8.
    Raises EditError.
    """
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if not old:
        raise EditError(
            "empty_old",
            "the text to replace is empty",
            "give the exact text; to add lines to the end use write_file with append",
        )
    if old == new:
        raise EditError("no_change", "the old and the new text are the same", "give a new text that differs")
    mark, body, codec = _decode(data, encoding)
    places = _find(body, old)
    if not places:
        raise EditError(
            "not_found", "the text does not occur in the file", "read the file and copy the exact text"
        )
    if not replace_all and _occurs_again(body, old):
        often = f"{len(places)} times" if len(places) > 1 else "twice, and the places overlap"
        raise EditError("not_unique", f"the text occurs {often}", "add lines around it, or set replace_all")
    changed = _splice(body, places, new)
    if changed == body:
        raise EditError("no_change", "the file already is what it would become", "nothing is left to do")
    line = body.count("\n", 0, places[0][0]) + 1
    return Edited(mark + _encoded(changed, new, codec), len(places), line)


def append_lines(data: bytes, new: str) -> bytes:
    """`data` with `new` at its end, on lines of its own; encoding and line ends are those of the file.

    Raises EditError.
    """
    mark, body, codec = _decode(data, None)
    lines = new.replace("\r\n", "\n").removesuffix("\n") + "\n"
    gap = "\n" if body and not body.endswith("\n") else ""
    added = (gap + lines).replace("\n", "\r\n") if "\r\n" in body else gap + lines
    return mark + _encoded(body + added, new, codec)


def _encoded(changed: str, new: str, codec: str) -> bytes:
    if not new.isascii() and _LONE.search(changed):
        raise EditError(
            "encoding", f"the file is not valid {codec}", "name its encoding, such as latin-1 or gbk"
        )
    try:
        return changed.encode(codec, _unreadable(codec))
    except UnicodeEncodeError as error:
        raise EditError(
            "encoding",
            f"{error.object[error.start : error.end]!r} cannot be written as {codec}",
            "use other characters",
        ) from None


def _unreadable(codec: str) -> str:
    """In a file of another encoding, bytes that are no UTF-8 pass through an edit untouched."""
    return "surrogateescape" if codec == "utf-8" else "strict"


def _decode(data: bytes, encoding: str | None) -> tuple[bytes, str, str]:
    mark, codec = marked(data)
    codec = _text_codec(encoding) if encoding and not mark else codec
    body = data[len(mark) :]
    if codec == "utf-8" and b"\x00" in body:
        raise EditError("binary", "this is a binary file", "only text can be edited")
    try:
        text = body.decode(codec, _unreadable(codec))
        if codec == "utf-8" or text.encode(codec) == body:
            return mark, text, codec
    except UnicodeDecodeError as error:
        raise EditError(
            "encoding",
            f"the file is not valid {codec}: byte {error.start}",
            "name its encoding, such as latin-1",
        ) from None
    except UnicodeError as error:
        raise EditError("encoding", f"{codec}: {error}", "name its encoding, such as latin-1") from None
    raise EditError(
        "encoding",
        f"the file would not stay the same as {codec}",
        "name its encoding exactly, such as utf-16-le",
    )


def _text_codec(name: str) -> str:
    """The codec of files that people have; Python's others are no encodings of text, or take for ever."""
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        known = ""
    if not known.startswith(_CODECS):
        raise EditError("encoding", f"{name!r} is no known encoding", "name another, such as utf-8")
    return "utf-8" if known == "utf-8" else name


def _find(body: str, old: str) -> list[tuple[int, int]]:
    """Start and end of every place, not overlapping; a CRLF in the file matches an LF of `old`."""
    if "\r\n" not in body:
        return _occurrences(body, old)
    flat = body.replace("\r\n", "\n")
    returns = [place - count for count, place in enumerate(_starts(body, "\r\n"))]
    return [(_unflat(start, returns), _unflat(end, returns)) for start, end in _occurrences(flat, old)]


def _occurs_again(body: str, old: str) -> bool:
    """Whether `old` has a second place, also one that overlaps the first: which one is meant is a guess."""
    flat = body.replace("\r\n", "\n")
    return flat.find(old, flat.find(old) + 1) >= 0


def _occurrences(text: str, piece: str) -> list[tuple[int, int]]:
    return [(start, start + len(piece)) for start in _starts(text, piece)]


def _starts(text: str, piece: str) -> list[int]:
    starts: list[int] = []
    place = text.find(piece)
    while place >= 0:
        starts.append(place)
        place = text.find(piece, place + len(piece))
    return starts


def _unflat(place: int, returns: list[int]) -> int:
    """The place in the original of a place in the text whose CRLFs became LFs."""
    return place + bisect_left(returns, place)


def _splice(body: str, places: list[tuple[int, int]], new: str) -> str:
    ends = _starts(body, "\n") if "\n" in new else []
    pieces: list[str] = []
    last = 0
    for start, end in places:
        pieces += [body[last:start], new.replace("\n", _line_end(body, ends, start)) if ends else new]
        last = end
    return "".join([*pieces, body[last:]])


def _line_end(body: str, ends: list[int], start: int) -> str:
    """The line end of the place: the first one at or behind its beginning, else the last of the file."""
    place = ends[min(bisect_left(ends, start), len(ends) - 1)]
    return "\r\n" if place and body[place - 1] == "\r" else "\n"
