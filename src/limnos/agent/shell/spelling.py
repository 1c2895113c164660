"""The escapes of `$'…'`."""

import re

_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "?": "?"}
_CONTROLS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "r": "\r", "v": "\v"}
_NUMBERS = re.compile(
    r"x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c([\x20-\x7e])"
)


def decode(text: str, place: int) -> tuple[str, bool, int]:
    """The characters from `place` to the closing quote, whether some are spelled, and where the quote is.

    Line feeds, tabs and quotes do not count as spelled. As in bash, a NUL ends the text, and bytes that are
    no UTF-8 stay bytes: they come as what `os.fsdecode` makes of them.
    """
    out: list[str] = []
    spelled = False
    while place < len(text) and text[place] != "'":
        if text[place] != "\\":
            out.append(text[place])
            place += 1
        elif (following := text[place + 1 : place + 2]) in _SIMPLE_ESCAPES:
            out.append(_SIMPLE_ESCAPES[following])
            place += 2
        else:
            spelled = True
            decoded, place = _spelled_escape(text, place + 1)
            out.append(decoded)
    raw = "".join(out).split("\0")[0].encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "surrogateescape"), spelled, place


def _spelled_escape(text: str, place: int) -> tuple[str, int]:
    """The character that an escape stands for, and the place behind it; `place` is behind the backslash."""
    if text[place : place + 1] in _CONTROLS:
        return _CONTROLS[text[place]], place + 1
    match = _NUMBERS.match(text, place)
    if match is None:
        return "\\" + text[place : place + 1], place + 1
    if match.group(5):
        return chr(ord(match.group(5).upper()) & 0x1F), match.end()
    if match.group(4):
        return _byte(int(match.group(4), 8) & 0xFF), match.end()
    if match.group(1):
        return _byte(int(match.group(1), 16)), match.end()
    code = int(match.group(2) or match.group(3), 16)
    return (chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "�"), match.end()


def _byte(code: int) -> str:
    return chr(code) if code < 0x80 else chr(0xDC00 + code)
