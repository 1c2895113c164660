"""Text of others made safe to show: what a terminal would obey or hide is spelled out.

Models, tools, pages, files and file names are outside text. Every front-end line that holds some goes
through `visible` (several lines), `one_line` (names, labels, log records) or `command_text` (what a person
is asked to allow). Text that merely looks like an escape stays as it is.
"""

import re
import unicodedata

# Controls other than tab and line feed, format characters, line and paragraph separators, lone surrogates,
# private use, fillers that look like nothing, and variation selectors that can carry hidden data.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ue000-\uf8ff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)
_JOINERS = "\u200c\u200d"
_JOINS_FROM = "\u0600"
_HOST = re.compile(r"(?P<before>://(?:[^\s/@]*@)?|\w@)(?P<host>[^\s/:?#'\"`<>()\[\]{}|;&,]+)")
_BLANKS = re.compile(r"[^\S\n]{17,}")
_LINE_ENDS = re.compile(r"\n(?:[^\S\n]*\n){3,}")
# Nothing that a shell or a program could take for another operand, an option or its value.
_LONG_WORD = re.compile(r"[A-Za-z0-9+_]{241,}")
_WORD_HEAD, _WORD_TAIL = 120, 60


def visible(text: str) -> str:
    """`text` with every control, bidirectional, invisible or private character as an escape.

    Line feeds and tabs stay; a carriage return before a line feed is dropped. Joiners stay inside emoji
    and between letters of scripts that need them.
    """
    text = text.replace("\r\n", "\n")
    return _SUSPECT.sub(lambda found: _spell(found, text), text)


def one_line(text: str) -> str:
    """Like `visible`, and line feeds and tabs are escapes too: what comes out is one line."""
    return visible(text.replace("\r\n", "\n")).replace("\n", "\\n").replace("\t", "\\t")


def command_text(text: str) -> str:
    """A command or an argument as a question shows it, over as many lines as it has.

    Hosts are in ASCII, so that look-alike letters show. Long runs of blanks or empty lines and the middle
    of very long words are replaced by their number; every operator and every word keeps its place, so that
    a cut never hides an effect.
    """
    text = hosts_in_ascii(visible(text))
    text = _BLANKS.sub(lambda found: f" [{len(found[0]):,} blanks] ", text)
    text = _LINE_ENDS.sub(lambda found: f"\n[{found[0].count(chr(10)) - 1:,} empty lines]\n", text)
    return _LONG_WORD.sub(_shorten, text)


def hosts_in_ascii(text: str) -> str:
    """`text` with every host of an address that is not plain ASCII folded or in punycode."""
    return text if text.isascii() else _HOST.sub(lambda found: found["before"] + _ascii(found["host"]), text)


def _spell(found: re.Match[str], text: str) -> str:
    character = found[0]
    if character in _JOINERS and _joins(text, found.start()):
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _joins(text: str, place: int) -> bool:
    return 0 < place < len(text) - 1 and text[place - 1] >= _JOINS_FROM and text[place + 1] >= _JOINS_FROM


def _shorten(found: re.Match[str]) -> str:
    word = found[0]
    hidden = len(word) - _WORD_HEAD - _WORD_TAIL
    return f"{word[:_WORD_HEAD]}[{hidden:,} characters hidden]{word[-_WORD_TAIL:]}"


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    labels = unicodedata.normalize("NFKC", host).casefold().split(".")
    return ".".join(_label(label) for label in labels)


def _label(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
