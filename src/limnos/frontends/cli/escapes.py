"""Text of others made safe to show: what a terminal would obey or hide is spelled out.

Models, tools, pages, files and file names are outside text. Every front-end line that holds some goes
through `visible` (several lines), `one_line` (names, labels, log records), `command_text` (what a person
is asked to allow) or `card_text` (the text of a card in a browser or a chat). Text that merely looks like
an escape stays as it is.
"""

import re
import unicodedata

from limnos.frontends.cli.hosts import hosts_in_ascii
from limnos.sdk.expression import Expression

# Controls other than tab and line feed, format characters, line and paragraph separators, lone surrogates,
# private use, fillers that look like nothing, variation selectors and joiners that can carry hidden data,
# and code points that are no characters.
_SUSPECT = Expression(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe\uffff\U00013430-\U00013455\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xE0000, 0x10000))
    + "]"
)
# Marks that are drawn over or under the character before them.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0730-\u074a\u08ca-\u08e1\u08e3-\u0902\u093a\u093c"
    "\u0941-\u0948\u094d\u0951-\u0957\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f7e"
    "\u0f80-\u0f84\u0f86\u0f87\u0f8d-\u0fbc\u1ab0-\u1ace\u1cd0-\u1ce0\u1dc0-\u1dff\u20d0-\u20f0\u302a-\u302d"
    "\u3099\u309a\ufe20-\ufe2f"
)
_MOST_MARKS = 5  # on one character; a Hebrew letter with all its points has four
_FLOOD = Expression(f"(?<=[{_MARKS}]{{{_MOST_MARKS}}})[{_MARKS}]+|(?:^|(?<=\\s))[{_MARKS}]+")
_ON_A_SIGN = Expression(f"(?<=[!-/:-@\\[-`{{-~])[{_MARKS}]+")
_ZERO_WIDTH_NON_JOINER, _ZERO_WIDTH_JOINER = "\u200c", "\u200d"
_JOINERS = _ZERO_WIDTH_NON_JOINER + _ZERO_WIDTH_JOINER
_KEYCAP = "\u20e3"
_BLANK_BRAILLE = "\u2800"
_EMOJI_FROM = "\u203c"
# Scripts whose letters change their form beside a joiner: Arabic to Sinhala, Myanmar, Khmer, Mongolian.
_JOINED_SCRIPTS = (("\u0600", "\u0dff"), ("\u1000", "\u109f"), ("\u1780", "\u18af"), ("\ua840", "\uabff"))
# Letters that can be taken for Latin ones, beside a Latin one: phonetic signs, Greek, Cyrillic, Armenian,
# Georgian, Cherokee, Lisu, and Latin letters in other forms (small, in a circle, wide, mathematical).
_ALIKE = (
    "\u0250-\u02af\u0370-\u052f\u0531-\u058a\u10a0-\u10ff\u13a0-\u13ff\u1c80-\u1c8f\u1d00-\u1d7f\u210a-\u2113\u2115"
    "\u2119-\u211d\u2124\u2128-\u2139\u249c-\u24e9\u2c60-\u2c7f\ua4d0-\ua4ff\uab30-\uabbf\uff10-\uff19\uff21-\uff3a"
    "\uff41-\uff5a\U0001d400-\U0001d7ff"
)
_MIXED = Expression(f"(?<![{_ALIKE}])(?:(?=[{_ALIKE}]+[A-Za-z])|(?<=[A-Za-z]))[{_ALIKE}]+")
_ODD_BLANK = Expression(r"[^\S \n\t]")
_BLANKS = Expression(r"[^\S\n]{17,}")
_LINE_ENDS = Expression(r"\n(?:[^\S\n]*\\?\n){3,}")
# Nothing that a shell or a program could take for another operand, an option or its value.
_LONG_WORD = Expression(r"[A-Za-z0-9+_]{241,}")
_WORD_HEAD, _WORD_TAIL = 120, 60
_SAME_LINES = Expression(r"^(?P<line>[^\n]{1,2000}\n)(?P=line){8,}", re.MULTILINE)
_LONG_RUN = 240
_RUN = Expression(r"(?P<unit>[\s\S]{1,16}?)(?P=unit){15,}")


def visible(text: str) -> str:
    """`text` with every control, bidirectional, invisible or private character as an escape.

    Line feeds and tabs stay; a carriage return before a line feed is dropped. Joiners stay inside emoji
    and between letters of scripts that need them. Marks that pile up, or have no letter to stand on, are
    escapes too. Hosts of addresses are in ASCII, so that look-alike letters show.
    """
    text = text.replace("\r\n", "\n")
    shown = _SUSPECT.sub(lambda found: _spell(found, text), text)
    if not shown.isascii():
        shown = _FLOOD.sub(_escapes, shown)
    return hosts_in_ascii(shown)


def one_line(text: str) -> str:
    """Like `visible`, and line feeds and tabs are escapes too: what comes out is one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def command_text(text: str) -> str:
    """A command or an argument as a question shows it, over as many lines as it has.

    Beside what `visible` does, a blank that is no plain blank, a mark on a sign that a shell obeys, and
    letters of other scripts inside a Latin word are escapes. Long runs of blanks, of empty lines or of the
    same signs, and the middle of very long words are replaced by their number; every operator and every
    word keeps its place, so that a cut never hides an effect.
    """
    text = _BLANKS.sub(lambda found: f" [{len(found[0]):,} blanks] ", visible(text))
    if not text.isascii():
        for suspicious in (_ODD_BLANK, _ON_A_SIGN, _MIXED):
            text = suspicious.sub(_escapes, text)
    text = _LINE_ENDS.sub(lambda found: f"\n[{found[0].count(chr(10)) - 1:,} empty lines]\n", text)
    if len(text) > _LONG_RUN:
        text = _SAME_LINES.sub(_one_of_them, text)
        text = _RUN.sub(_shorten_run, text)
    return _LONG_WORD.sub(_shorten, text)


def card_text(text: str) -> str:
    """The text of a card in a browser or a chat: small, so it is shortened as a command is."""
    return command_text(text)


def _escapes(found: re.Match[str]) -> str:
    return "".join(map(_escape, found[0]))


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _spell(found: re.Match[str], text: str) -> str:
    character, place = found[0], found.start()
    before = text[place - 1 : place]
    after = text[place + 1 : place + 2]
    return character if _belongs(character, before, after) else _escape(character)


def _belongs(character: str, before: str, after: str) -> bool:
    """Whether an invisible character is part of what its neighbours are: an emoji, a letter, Braille."""
    if not before:
        return False
    if character in "\ufe0e\ufe0f":
        return _is_emoji(before) or (before in "#*0123456789" and after == _KEYCAP)
    if character == _BLANK_BRAILLE:
        return "\u2801" <= before <= "\u28ff" or "\u2801" <= after <= "\u28ff"
    if character not in _JOINERS or not after:
        return False
    if any(low <= before <= high and low <= after <= high for low, high in _JOINED_SCRIPTS):
        return True
    return character == _ZERO_WIDTH_JOINER and (before == "\ufe0f" or _is_emoji(before)) and _is_emoji(after)


def _is_emoji(character: str) -> bool:
    """Whether a symbol can be shown as a picture; one that this Python does not know yet may be an emoji."""
    if character < _EMOJI_FROM:
        return character in "©®"
    kind = unicodedata.category(character)
    return kind in ("So", "Sm", "Sk") or character in "‼⁉ℹ〰" or (kind == "Cn" and character >= "\U0001f000")


def _one_of_them(found: re.Match[str]) -> str:
    line = found["line"]
    return f"{line}[the same line {len(found[0]) // len(line) - 1:,} times more]\n"


def _shorten_run(found: re.Match[str]) -> str:
    return _shorten(found, " of the same") if len(found[0]) > _LONG_RUN else found[0]


def _shorten(found: re.Match[str], what: str = "") -> str:
    word = found[0]
    hidden = len(word) - _WORD_HEAD - _WORD_TAIL
    return f"{word[:_WORD_HEAD]}[{hidden:,} characters{what} hidden]{word[-_WORD_TAIL:]}"
