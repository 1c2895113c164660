"""Which pieces of a text name one thing only, and how they are written so that two spellings meet."""

import re

TEXT_CHARS = 2_000_000
TOKENS = 20_000
LONGEST = 512  # characters of one token; longer ones are data, not names

# Pieces that may hold a token: an address, a Windows path, a number with thousands, or what holds together.
CHUNK = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,15}://[^\s<>\"'`()\[\]{}|\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]{1,500}"
    r"|[A-Za-z]:\\[\w\\. -]{0,200}\w"
    r"|(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,]*\d)"
    r"|[A-Za-z0-9_~./\\@+#-]{2,512}(?::\d+)*"
)

_YEAR = r"(?:1[6-9]|20|21)\d\d"
_DATE = re.compile(
    rf"{_YEAR}s?|{_YEAR}[-/._](?:\d{{1,2}}|{_YEAR})(?:[-/._]\d{{1,2}})?(?:t[\d:.]*z?)?"
    rf"|\d{{1,2}}[-/._]\d{{1,2}}[-/._](?:{_YEAR}|\d\d)|\d{{1,2}}[-/.]{_YEAR}"
    r"|(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:t\d*z?)?"
    r"|\d{1,2}(?::\d\d)+(?:[ap]m)?|(?:mid|late|early|pre|post|q[1-4])-?(?:1[6-9]|20|21)\d\d"
)
# An amount with its unit is plain text: 20th, 10am, 90s, 5km, 24-year-old.
_AMOUNT = re.compile(r"\d{1,3}(?:\.\d+)?[a-z]{1,3}|\d+-[a-z-]+|\d{1,3}")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+(?:[-+._a-z0-9]*[a-z0-9])?)")
_NUMBER = re.compile(r"\+?\d[\d-]*\d")
_LETTERS = re.compile(r"[a-z]")
_DIGIT = re.compile(r"\d")
_HUMPS = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]{2}")
_DOTTED = re.compile(r"\w*[a-z]\w(?:\.\w+)+|\w+(?:\.\w+)*\.\w*[a-z]\w*|\.[a-z][\w.-]+")
_INITIALS = re.compile(r"(?:[a-z]\.)+[a-z]?")
_FLAG = re.compile(r"--[a-z][\w-]+")
_PORT = re.compile(r"[a-z][a-z0-9-]*:\d{4,5}")
_PLACE = re.compile(r"(.+?)((?::\d+)+)")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def spelled(text: str) -> str:
    """`text` with the full-width forms of ASCII as ASCII; as long as before."""
    return text if text.isascii() else text.translate(_FULL_WIDTH)


def tokens_of(chunk: str) -> tuple[str, ...]:
    """The tokens of one chunk as they are compared: lower case, no frame of punctuation.

    An address also counts by its host, a path by the name at its end, a place in a file by the file.
    """
    piece = chunk.replace("\\", "/").rstrip("./:-+#~@,;!?&=") or ""
    low = piece.lower().replace(",", "") if piece[:1].isdigit() else piece.lower()
    if _ADDRESS.match(low):
        return _address(low)
    place = _PLACE.fullmatch(low)
    if _PORT.fullmatch(low):
        return (low,)
    head = place.group(1) if place and not low[0].isdigit() else low
    low, piece = head, piece[: len(head)]
    if len(low) < 2 or _DATE.fullmatch(low) or _AMOUNT.fullmatch(low):
        return ()
    if "/" in low:
        return _path(low)
    if _FLAG.fullmatch(low):
        return (low,)
    return _plain(low.lstrip("-+/@~"), piece)


def _address(low: str) -> tuple[str, ...]:
    rest = low.partition("://")[2].removeprefix("www.")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    return tuple(dict.fromkeys(token for token in (rest, host) if len(token) > 2))


def _path(low: str) -> tuple[str, ...]:
    parts = [part for part in low.split("/") if part not in ("", ".", "..", "~")]
    if not parts:
        return ()
    rooted = low[0] in "/~." or low[1:2] == ":"
    named = any("_" in part or _is_name(part) for part in parts)
    if not (rooted or named or len(parts) > 2) or all(part.isdigit() for part in parts):
        return ()
    whole = low.removeprefix("./").rstrip("/")
    return tuple(dict.fromkeys((whole, *_plain(parts[-1], parts[-1]))))


def _is_name(part: str) -> bool:
    return bool(_DOTTED.fullmatch(part) or (_DIGIT.search(part) and _LETTERS.search(part)))


def _plain(low: str, piece: str) -> tuple[str, ...]:
    """Of what has no slash."""
    if len(low) < 2 or _DATE.fullmatch(low) or _AMOUNT.fullmatch(low) or _INITIALS.fullmatch(low):
        return ()
    if low[0] == "#":
        return (low,) if low[1:].isdigit() else _plain(low[1:], piece[1:])
    if _EMAIL.fullmatch(low):
        return (low,)
    host = _PLACE.fullmatch(low)
    if host and _VERSION.fullmatch(host.group(1)):
        return (low, host.group(1))
    if version := _VERSION.fullmatch(low):
        return (version.group(1),)
    if _NUMBER.fullmatch(low):
        digits = re.sub(r"[+-]", "", low)
        return (digits,) if len(digits) >= 4 else ()
    low = low.strip("-")
    mixed = bool(_DIGIT.search(low)) and bool(_LETTERS.search(low))
    named = "_" in low.strip("_") or (low[:2] == "__" and low.strip("_"))
    if mixed or named or _HUMPS.search(piece) or _DOTTED.fullmatch(low):
        return (low,)
    return ()
