"""Other readings of a text: decoded, unescaped, joined over lines. Each knows where it came from."""

import base64
import binascii
import re
import unicodedata
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from limnos.sdk.expression import Expression

MAX_UNPACKED = 1_000_000  # bytes of one compressed piece
MAX_RUNS = 1_000  # encoded pieces of one text that are looked into
_INVISIBLE = Expression(
    "[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\xad\u0300-\u036f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_BACKSPACE = Expression("[^\x08\n]\x08")
_MARKUP = Expression(
    r"\x1b\[[0-?]*[ -/]*[@-~]|(?<!\*)\*\*(?!\*)|`|<!--.{0,200}?-->"
    r"|</?(?:a|b|br|code|em|font|i|span|strong|u|wbr)\b[^<>]{0,100}>"
)
_FORMS = Expression("[\u2102-\u214f\u2460-\u24ff\uff01-\uff5e\U0001d400-\U0001d7ff\U0001f130-\U0001f149]")
_PERCENT = Expression("(?:%[0-9A-Fa-f]{2})+")
_ESCAPE = Expression(
    r"\\u([0-9A-Fa-f]{4})|\\u\{([0-9A-Fa-f]{1,6})\}|\\U([0-9A-Fa-f]{8})|\\x([0-9A-Fa-f]{2})"
    r"|\\([0-9A-Fa-f]{6})\b ?|&#[xX]([0-9A-Fa-f]{1,6});?|&#(\d{1,7});?|\\([0-7]{3})|\\([\"'/\\])"
)
_QUOTED = Expression("(?:=[0-9A-F]{2}){2,}")
_SPACED = Expression(r"(?<!\S)\S(?:([ .-])\S)(?:\1\S){6,}(?!\S)")  # one by one, with the same sign between
_SPLIT = Expression(r"[\"'`]?[ \t]*(?:\\|\+|\.\.|=)?[ \t]*\r?\n[ \t>|]*(?:\+|\.|&)?[ \t]*[\"'`]?")
_JOINED = Expression(r"\"[ \t]{0,3}[+.&]?[ \t]{0,3}\"|'[ \t]{0,3}[+.&]?[ \t]{0,3}'")
_DUMP = Expression(  # as xxd and hexdump print
    r"(?m)^[0-9A-Fa-f]{4,8}:?[ \t]+((?:(?:[0-9A-Fa-f]{2}){1,2} {1,2}){2,}(?:[0-9A-Fa-f]{2}){0,2})"
    r" *(?:[| ].{0,40})?$"
)
_BASE64 = Expression(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_BASE32 = Expression(r"(?<![0-9A-Za-z])(?:[A-Z2-7]{16,}|[a-z2-7]{24,})={0,6}")
_BASE85 = Expression(r"(?<!\S)[!-~]{20,2000}(?!\S)")
_HEX = Expression(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}[ :-]?){8,}(?![0-9A-Za-z])")
_NUMBER = "(?:0[xX][0-9A-Fa-f]{2}|[0-9]{2,3})"
_BYTES = Expression(rf"(?<![0-9A-Za-z])(?:{_NUMBER}[, \t\r\n]{{1,3}}){{7,}}{_NUMBER}\b")
_OCTAL = Expression(r"(?<![0-9A-Za-z])(?:[0-7]{3}[, ]{1,2}){7,}[0-7]{3}\b")
_BINARY = Expression(r"(?<![0-9A-Za-z])(?:[01]{8}[ ,]{0,2}){8,}")
_TAGS = Expression("[\U000e0020-\U000e007e]{8,}")
_PIECES = Expression(
    r"(?:\"[^\"\n]{1,12}\",\s{0,2}){3,}\"[^\"\n]{1,12}\"|(?:'[^'\n]{1,12}',\s{0,2}){3,}'[^'\n]{1,12}'"
)
_NOT_IN_A_WORD = Expression(r"[\W_]+")
_GZIP = b"\x1f\x8b"
_ZLIB = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda")
_LEAST_DEFLATED = 12  # bytes


class View(NamedTuple):
    """A reading of a text. `starts` are places in `text` at which a piece begins, `origins` whence it came.

    With `whole` all of the reading stands for one range; `joined`: what stood apart stands together in it.
    `of` is the reading that this one was made of.
    """

    text: str
    starts: list[int]
    origins: list[tuple[int, int]]
    whole: bool = False
    joined: bool = False
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
    """`text` with its escapes undone, and that with its parts joined too: each that differs from the last."""
    before: View | None = None
    for joined, rewrites in ((False, _UNDONE), (True, _JOINS)):
        changed = False
        for expression, change in rewrites:
            view = _rewritten(text if before is None else before.text, expression, change)
            if view is not None:
                before, changed = view._replace(of=before, joined=joined), True
        if changed and before is not None:
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


def squeezed(text: str) -> View | None:
    """`text` without anything but letters and digits, these in lower case; None when nothing is left."""
    lower = text.lower() if len(text.lower()) == len(text) else text
    plain = _rewritten(lower, _NOT_IN_A_WORD, lambda match: "")
    return plain if plain is not None or not lower else View(lower, [0], [(0, len(lower))])


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


def _nothing(match: re.Match[str]) -> str:
    return ""


_Rewrites: TypeAlias = tuple[tuple[Expression, Callable[[re.Match[str]], str]], ...]
# In this order; what was encoded twice is undone twice, JSON inside of JSON once more.
_UNDONE: _Rewrites = (
    (_BACKSPACE, _nothing),
    (_MARKUP, _nothing),
    (_INVISIBLE, _nothing),
    (_FORMS, lambda match: unicodedata.normalize("NFKC", match[0])),
    (_PERCENT, _unquoted),
    (_PERCENT, _unquoted),
    (_ESCAPE, _unescaped),
    (_ESCAPE, _unescaped),
    (_ESCAPE, _unescaped),
    (_QUOTED, lambda match: bytes.fromhex(match[0].replace("=", "")).decode("latin-1")),
    (_DUMP, lambda match: match[1]),
)
_JOINS: _Rewrites = (
    (_SPLIT, _nothing),
    (_JOINED, _nothing),
    (_SPACED, lambda match: match[0].replace(match[0][1], "")),
)


def _from_base64(run: str) -> bytes | None:
    plain = run.rstrip("=").replace("-", "+").replace("_", "/")
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error:
        return None


def _from_hex(run: str) -> bytes | None:
    try:
        return bytes.fromhex(run.replace(":", " ").replace("-", " "))
    except ValueError:
        return None


def _from_base32(run: str) -> bytes | None:
    plain = run.rstrip("=").upper()
    try:
        return base64.b32decode(plain + "=" * (-len(plain) % 8))
    except binascii.Error:
        return None


def _from_base85(run: str) -> bytes | None:
    try:
        return base64.b85decode(run)
    except ValueError:
        return None


def _from_ascii85(run: str) -> bytes | None:
    try:
        return base64.a85decode(run, adobe=run.startswith("<~"))
    except ValueError:
        return None


def _from_numbers(run: str) -> bytes | None:
    try:
        return bytes(int(one, 0 if one[:2] in ("0x", "0X") else 10) for one in re.findall(r"\w+", run))
    except ValueError:
        return None


def _from_octal(run: str) -> bytes | None:
    try:
        return bytes(int(one, 8) for one in re.findall("[0-7]{3}", run))
    except ValueError:
        return None


def _from_binary(run: str) -> bytes:
    return bytes(int(one, 2) for one in re.findall("[01]{8}", run))


def _from_tags(run: str) -> bytes:
    return bytes(ord(one) - 0xE0000 for one in run)


def _from_pieces(run: str) -> bytes:
    pieces = re.findall(r"\"([^\"]+)\"|'([^']+)'", run)
    return "".join(one or other for one, other in pieces).encode("utf-8", "replace")


_CODES: tuple[tuple[Expression, Callable[[str], bytes | None]], ...] = (
    (_BASE64, _from_base64),
    (_HEX, _from_hex),
    (_BASE32, _from_base32),
    (_BASE85, _from_base85),
    (_BASE85, _from_ascii85),
    (_BYTES, _from_numbers),
    (_OCTAL, _from_octal),
    (_BINARY, _from_binary),
    (_TAGS, _from_tags),
    (_PIECES, _from_pieces),
)


def _unpacked(data: bytes) -> bytes:
    """What is packed in `data`; itself when nothing is. A bare deflate stream has no mark and is tried."""
    marked = data.startswith((_GZIP, *_ZLIB))
    if not marked and (len(data) < _LEAST_DEFLATED or data.isascii()):
        return data
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32 if marked else -zlib.MAX_WBITS).decompress(
            data, MAX_UNPACKED
        )
    except zlib.error:
        return data


def _as_text(data: bytes) -> str:
    """The text of decoded bytes; empty for what is no text, which random data never is for long."""
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError:
        return ""
    return text if all(one.isprintable() or one in "\r\n\t" for one in text) else ""


def _encoding(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if len(data) >= 8 and not any(data[1:64:2]):
        return "utf-16-le"
    return "utf-16-be" if len(data) >= 8 and not any(data[:64:2]) else "utf-8"
