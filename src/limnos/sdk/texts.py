"""Bytes of a file as text, its lines and their number in words: in one way for everything that reads."""

import io
from collections.abc import Iterator

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),  # before the mark of UTF-16, with which it begins
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_LOOKED_AT = 8192
_BLOCK = 1 << 16  # characters


def marked(data: bytes) -> tuple[bytes, str]:
    """The byte order mark that `data` begins with, and the encoding it names; UTF-8 without one."""
    return next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def decoded(data: bytes) -> str | None:
    """The text without its mark, bad bytes as U+FFFD; None for a binary file (NUL in its first 8 KB)."""
    mark, codec = marked(data)
    if not mark and b"\x00" in data[:_LOOKED_AT]:
        return None
    return data[len(mark) :].decode(codec, "replace")


def each_line(text: str) -> Iterator[str]:
    """The lines of `text` with their ends, one by one; only LF ends a line, as for every other tool."""
    return iter(io.StringIO(text, newline="\n"))


def lines_of(text: str) -> list[str]:
    """All of them at once; a list of short lines takes fifty times the room of the text."""
    return list(each_line(text))


def line_count(text: str) -> int:
    """How many lines `each_line` would give, without making them."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def line_start(text: str, number: int) -> int:
    """Where line `number`, from 1, begins in `text`; the end of `text` when it has fewer lines."""
    before, place = number - 1, 0
    while before > 0 and place < len(text):
        ends = text.count("\n", place, place + _BLOCK)
        if ends >= before:
            break
        before, place = before - ends, place + _BLOCK
    for _ in range(min(before, _BLOCK)):
        place = text.find("\n", place) + 1 or len(text)
    return min(place, len(text))


def counted(number: int, what: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
