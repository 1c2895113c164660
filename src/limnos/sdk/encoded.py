"""Other readings of a text: decoded, unescaped, joined over lines. Each knows where it came from."""

import base64
import binascii
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from limnos.sdk.expression import Expression

MAX_UNPACKED = 1_000_000  # bytes of one compressed piece
MAX_RUNS = 1_000  # encoded pieces of one text that are looked into
_INVISIBLE = Expression(
    "[\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]+"
)
_PERCENT = Expression("(?:%[0-9A-Fa-f]{2})+")
_ESCAPE = Expression(
    r"\\u\{?([0-9A-Fa-f]{4,6})\}?|\\x([0-9A-Fa-f]{2})|&#x([0-9A-Fa-f]{1,6});|&#(\d{1,7});|\\([0-7]{3})"
    r"|\\([\"'/\\])"
)
_QUOTED = Expression("(?:=[0-9A-F]{2}){2,}")
_SPACED = Expression(r"(?<!\S)\S(?:([ .-])\S)(?:\1\S){6,}(?!\S)")  # one by one, with the same sign between
_SPLIT = Expression(r"[\"'`]?[ \t]*(?:\\|\+|\.\.|=)?[ \t]*\r?\n[ \t>|]*(?:\+|\.|&)?[ \t]*[\"'`]?")
_BASE64 = Expression(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE32 = Expression(r"(?<![0-9A-Za-z])[A-Z2-7]{16,}={0,6}")
_HEX = Expression(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}[ :]?){8,}(?![0-9A-Za-z])")
_GZIP = b"\x1f\x8b"
_ZLIB = (b"x\x01", b"x\x9c", b"x\xda")


class View(NamedTuple):
    """A reading of a text. `starts` are places in `text` at which a piece begins, `origins` whence it came.

    With `whole` all of the reading stands for one range. `of` is the reading that this one was made of.
    """

    text: str
    starts: list[int]
    origins: list[tuple[int, int]]
    whole: bool = False
    of: "View | None" = None

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The range of the original that a range of this reading came from."""
        if self.whole:
            begin, stop = self.origins[0]
        else:
            begin, stop = self._origin(start, last=False), self._origin(max(end - 1, start), last=True)
        return (begin, stop) if self.of is None else self.of.place(begin, stop)

    def _origin(self, place: int, *, last: bool) -> int:
        number = bisect_right(self.starts, place) - 1
        begin, end = self.origins[number]
        length = (self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)) - self.starts[
            number
        ]
        if end - begin == length:
            return begin + place - self.starts[number] + last
        return end if last else begin


def readings(text: str) -> Iterator[View]:
    """`text` with its escapes undone one kind after another; each reading that differs from the last."""
    before: View | None = None
    for expression, change in _REWRITES:
        view = _rewritten(text if before is None else before.text, expression, change)
        if view is not None:
            before = view._replace(of=before)
            yield before


def decoded(text: str, of: View | None = None) -> Iterator[View]:
    """The pieces of `text` that are encoded, one by one, decoded; `of` is the reading that it is."""
    for runs, decode in _CODES:
        for number, match in enumerate(runs.finditer(text)):
            if number >= MAX_RUNS:
                break
            data = decode(match[0])
            if data is not None and (said := _as_text(_unpacked(data))):
                yield View(said, [0], [match.span()], whole=True, of=of)


def _rewritten(text: str, expression: Expression, change: Callable[[re.Match[str]], str]) -> View | None:
    pieces: list[str] = []
    starts: list[int] = []
    origins: list[tuple[int, int]] = []
    size = last = 0

    def add(piece: str, begin: int, end: int) -> None:
        nonlocal size
        if piece:
            pieces.append(piece)
            starts.append(size)
            origins.append((begin, end))
            size += len(piece)

    for match in expression.finditer(text):
        add(text[last : match.start()], last, match.start())
        add(change(match), match.start(), match.end())
        last = match.end()
    if not last or not size:
        return None
    add(text[last:], last, len(text))
    return View("".join(pieces), starts, origins)


def _unescaped(match: re.Match[str]) -> str:
    *hexadecimal, decimal, octal, plain = match.groups()
    if plain is not None:
        return plain
    digits = next((one for one in hexadecimal if one is not None), None)
    code = int(digits, 16) if digits is not None else int(octal, 8) if octal is not None else int(decimal)
    return chr(code) if code < 0x110000 else match[0]


def _unquoted(match: re.Match[str]) -> str:
    data = bytes.fromhex(match[0].replace("%", ""))
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


_REWRITES: tuple[tuple[Expression, Callable[[re.Match[str]], str]], ...] = (
    (_INVISIBLE, lambda match: ""),
    (_PERCENT, _unquoted),
    (_ESCAPE, _unescaped),
    (_QUOTED, lambda match: _unquoted_printable(match[0])),
    (_SPLIT, lambda match: ""),
    (_SPACED, lambda match: match[0].replace(match[0][1], "")),
)


def _unquoted_printable(run: str) -> str:
    return bytes.fromhex(run.replace("=", "")).decode("latin-1")


def _from_base64(run: str) -> bytes | None:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        return None


def _from_hex(run: str) -> bytes | None:
    try:
        return bytes.fromhex(run.replace(":", " "))
    except ValueError:
        return None


def _from_base32(run: str) -> bytes | None:
    plain = run.rstrip("=")
    try:
        return base64.b32decode(plain + "=" * (-len(plain) % 8))
    except binascii.Error:
        return None


_CODES = ((_BASE64, _from_base64), (_HEX, _from_hex), (_BASE32, _from_base32))


def _unpacked(data: bytes) -> bytes:
    if not data.startswith((_GZIP, *_ZLIB)):
        return data
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(data, MAX_UNPACKED)
    except zlib.error:
        return data


def _as_text(data: bytes) -> str:
    """The text of decoded bytes; empty for what is no text, which random data never is for long."""
    wide = len(data) >= 8 and not any(data[1:64:2])
    try:
        text = data.decode("utf-16-le" if wide else "utf-8")
    except UnicodeDecodeError:
        return ""
    return text if all(one.isprintable() or one in "\r\n\t" for one in text) else ""
