"""What a word becomes: exactly, when no part of it is replaced by the shell, and as a guess when some is."""

import posixpath
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from limnos.agent.shell.pieces import Piece
from limnos.agent.shell.place import UNKNOWN, Place

MAX_FIELDS = 64
MAX_VALUES = 8
MAX_LENGTH = 20_000  # of a guess: values that hold each other must not grow without end
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(\.\.-?\d{1,6})?")
_PLACE = re.compile(r"%[-\d.]*[sbqd]")
_FROM_OUTSIDE = frozenset(
    {
        "PATH",
        "LANG",
        "LC_ALL",
        "TERM",
        "OLDPWD",
        "RANDOM",
        "SECONDS",
        "UID",
        "EUID",
        "PPID",
        "BASHPID",
        "HOSTNAME",
        "OSTYPE",
        "BASH",
        "BASH_VERSION",
        "LINENO",
        "REPLY",
        "FUNCNAME",
        "PIPESTATUS",
        "TMPDIR",
        "MAPFILE",
        "BASH_SOURCE",
        "SHLVL",
        "COLUMNS",
        "LINES",
        "EPOCHSECONDS",
        "OPTARG",
        "OPTIND",
    }
)
_SUSPICIOUS_CATEGORIES = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp", "Cs", "Co", "Cn"})
_HIDDEN = re.compile(
    "[\x01-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)


_CHANGING = re.compile(r"[^\x00-\x7e]|[*?\[{~\r\x0b\x0c\x1b]")


class Known(NamedTuple):
    """What the shell would replace, as far as the text shows it: its folders, values of variables."""

    place: Place
    folders: list[str]
    values: dict[str, list[str]]


class Text(NamedTuple):
    """A word after quote removal. `exact`: bash passes exactly `shown`. Else `reasons` say why it may not."""

    shown: str
    exact: bool
    reasons: tuple[str, ...] = ()


def start(place: Place) -> Known:
    """What is known before the first command."""
    values = {
        "HOME": [place.home],
        "LIMNOS_HOME": [place.state],
        "USER": [place.user],
        "LOGNAME": [place.user],
        "IFS": [" "],
        "SHELL": ["/bin/bash"],
    }
    return Known(place, [place.cwd], values)


def text_of(pieces: Sequence[Piece], place: Place) -> Text:
    """The word as it is shown and compared with rules."""
    if len(pieces) == 1 and pieces[0].kind in ("plain", "quoted"):
        shown = pieces[0].text
        if pieces[0].kind == "quoted" or not _may_change(shown):
            return Text(shown, True, _hidden(shown))
    reasons: dict[str, None] = {}
    shown = "".join(piece.text for piece in pieces)
    unquoted = "".join(
        piece.text if piece.kind == "plain" else "\ue000" * len(piece.text) for piece in pieces
    )
    exact = True
    for piece in pieces:
        if sentence := _replaced(piece):
            reasons[sentence] = None
            exact = exact and piece.kind == "spelled"
    if sentence := _pattern(unquoted):
        reasons[sentence] = None
        exact = False
    if unquoted.startswith("~"):
        if unquoted == "~" or unquoted.startswith("~/"):
            shown = place.home + shown[1:]
        else:
            reasons[f"{shown} stands for a folder that is not shown"] = None
            exact = False
    elif re.match(r"[A-Za-z_][A-Za-z0-9_]*\+?=", unquoted) and re.search(r"[=:]~", unquoted):
        reasons["~ behind = may stand for a folder"] = None
        exact = False
    for sentence in (*_hidden(shown), *_odd_blank(unquoted)):
        reasons[sentence] = None
    return Text(shown, exact, tuple(reasons))


def _may_change(text: str) -> bool:
    return _CHANGING.search(text) is not None


def _replaced(piece: Piece) -> str:
    match piece.kind:
        case "variable":
            return f"{_short(piece.text)} is a variable whose value is not shown"
        case "command":
            return f"{_short(piece.text)} runs a command whose words cannot be shown"
        case "process":
            return f"{_short(piece.text)} runs a command beside this one"
        case "arithmetic":
            return f"{_short(piece.text)} is computed"
        case "strange":
            return f"{_short(piece.text)} is replaced by something that is not shown"
        case "spelled":
            return "$'…' spells characters by their numbers"
        case "plain" | "quoted":
            return ""


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


def _pattern(unquoted: str) -> str:
    if "*" in unquoted or "?" in unquoted or _between(unquoted, "[", "]") is not None:
        return f"{_short(unquoted)} becomes names of files that are not shown".replace("\ue000", "·")
    inside = _between(unquoted, "{", "}") or ""
    if "," in inside or ".." in inside:
        return f"{_short(unquoted)} becomes several words".replace("\ue000", "·")
    return ""


def _between(text: str, opening: str, closing: str) -> str | None:
    """What stands between the first opening and the last closing sign, None when they are not there."""
    first, last = text.find(opening), text.rfind(closing)
    return text[first + 1 : last] if 0 <= first < last else None


def _hidden(text: str) -> tuple[str, ...]:
    if text.isascii() and text.isprintable():
        return ()
    return ("a word holds characters that cannot be seen",) if _HIDDEN.search(text) else ()


def _odd_blank(unquoted: str) -> tuple[str, ...]:
    if unquoted.isascii():
        odd = any(char in unquoted for char in "\r\x0b\x0c\x1b\x7f")
    else:
        odd = any(
            unicodedata.category(char) in _SUSPICIOUS_CATEGORIES for char in unquoted if char != "\ue000"
        )
    return ("a blank that is none for the shell stands in a word",) if odd else ()


def guesses(pieces: Sequence[Piece], known: Known) -> list[str]:
    """The words that this one may become: braces, tildes and variables replaced as far as they are known.

    What cannot be known is `UNKNOWN`; a pattern stays a pattern; a variable that nothing sets is empty.
    """
    if len(pieces) == 1 and pieces[0].kind in ("plain", "quoted"):
        text = pieces[0].text
        if pieces[0].kind == "quoted" or not ("{" in text or "~" in text):
            return [text]
    found: list[str] = []
    for one in _braces(tuple(pieces)):
        found += _fields(one, known)
        if len(found) >= MAX_FIELDS:
            break
    return found[:MAX_FIELDS]


def _braces(pieces: tuple[Piece, ...]) -> Iterator[tuple[Piece, ...]]:
    if not any(piece.kind == "plain" and "{" in piece.text for piece in pieces):
        yield pieces
        return
    atoms: list[Piece] = []
    for piece in pieces:
        atoms += [piece._replace(text=char) for char in piece.text] if piece.kind == "plain" else [piece]
    yield from _alternatives(atoms, 0)


def _alternatives(atoms: list[Piece], depth: int) -> Iterator[tuple[Piece, ...]]:
    place = 0
    while depth < 6 and place < len(atoms):
        if _is(atoms[place], "{") and (found := _group(atoms, place)) is not None:
            parts, end = found
            for part in parts[:MAX_FIELDS]:
                yield from _alternatives([*atoms[:place], *part, *atoms[end + 1 :]], depth + 1)
            return
        place += 1
    yield tuple(atoms)


def _is(piece: Piece, char: str) -> bool:
    return piece.kind == "plain" and piece.text == char


def _group(atoms: list[Piece], start_at: int) -> tuple[list[list[Piece]], int] | None:
    """The alternatives of the brace at `start_at` and the place of its end, None when it is only a brace."""
    parts: list[list[Piece]] = [[]]
    level = 0
    for place in range(start_at + 1, min(len(atoms), start_at + 2_000)):
        piece = atoms[place]
        if _is(piece, "}") and level == 0:
            if len(parts) > 1:
                return parts, place
            ends = _range("".join(one.text for one in parts[0]))
            return (ends, place) if ends else None
        level += 1 if _is(piece, "{") else -1 if _is(piece, "}") else 0
        if _is(piece, ",") and level == 0:
            parts.append([])
        else:
            parts[-1].append(piece)
    return None


def _range(text: str) -> list[list[Piece]]:
    match = _RANGE.fullmatch(text)
    if match is None:
        return []
    first, last = match.group(1), match.group(2)
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit():
        return []
    if first.lstrip("-").isdigit():
        low, high = sorted((int(first), int(last)))
        return [[Piece("plain", str(number))] for number in range(low, min(high, low + 15) + 1)]
    low, high = sorted((ord(first), ord(last)))
    return [[Piece("plain", chr(code))] for code in range(low, high + 1)]


_SPLIT = "\ue001"
_WHITE = re.compile(r"[ \t\n]+")


def _fields(pieces: Sequence[Piece], known: Known) -> list[str]:
    texts = [""]
    has_quotes = False
    for place, piece in enumerate(pieces):
        has_quotes = has_quotes or piece.quoted
        options = _options(piece, known)
        if piece.kind == "plain" and "~" in piece.text:
            options = [_tilde(texts[0], piece.text, place == 0, known)]
        texts = [(text + option)[:MAX_LENGTH] for text in texts for option in options][:MAX_VALUES]
    fields = [field for text in texts for field in text.split(_SPLIT)]
    return fields if has_quotes else [field for field in fields if field]


def _options(piece: Piece, known: Known) -> list[str]:
    if piece.kind in ("plain", "quoted", "spelled"):
        return [piece.text]
    if piece.kind == "command":
        values = _printed(piece, known)
    elif piece.kind == "variable":
        values = value_of(piece, known)
    else:
        values = [UNKNOWN]
    return values if piece.quoted else [_SPLIT.join(_WHITE.split(value)) for value in values]


def value_of(piece: Piece, known: Known) -> list[str]:
    """What a variable may hold there."""
    name = piece.name
    if name == "PWD" or name in known.values:
        values = known.folders if name == "PWD" else known.values[name]
        cuts = "".join(one.text for one in piece.inner) == "%/*"
        return [posixpath.dirname(value) if cuts else value for value in values[:MAX_VALUES]]
    if not (name[:1].isalpha() or name[:1] == "_") or name == "_":
        return [""] if name in ("@", "*") else [UNKNOWN]
    operator = "".join(one.text for one in piece.inner[:2])
    if operator.startswith((":-", "-", ":=", "=")):
        behind = piece.inner[2 if operator.startswith(":") else 1 :]
        return _fields(behind, known) or [""]
    guarded = operator.startswith((":?", "?"))  # an empty one stops the shell
    return [UNKNOWN] if guarded or name in _FROM_OUTSIDE else [""]


def _printed(piece: Piece, known: Known) -> list[str]:
    """The output of `$(pwd)` and `$(echo …)`; of other commands it is unknown."""
    words = [token for token in piece.tokens if token.kind == "word"]
    if words and words[0].text == "cd" and words[-1].text == "pwd":
        return [field for word in words[1:-1] for field in guesses(word.pieces, known)] or [known.place.home]
    if not piece.tokens:
        return [""]
    if len(words) != len(piece.tokens) or not words:
        return [UNKNOWN]
    if words[0].text == "pwd" and len(words) == 1:
        return list(known.folders)
    fields = [field for word in words[1:9] for field in guesses(word.pieces, known)]
    plain = [field for field in fields if not field.startswith("-")]
    if words[0].text == "printf":
        return [formatted(fields)]
    if words[0].text in ("realpath", "readlink"):
        return plain or [UNKNOWN]
    if words[0].text == "dirname":
        return [posixpath.dirname(field.rstrip("/")) or "." for field in plain] or [UNKNOWN]
    return (
        [" ".join(field for field in fields if field != "-n")[:MAX_LENGTH]]
        if words[0].text == "echo"
        else [UNKNOWN]
    )


def formatted(fields: Sequence[str]) -> str:
    """What printf makes of its words, as far as `%s` and line feeds go."""
    if not fields:
        return ""
    text, *rest = fields
    for value in rest[:16]:
        text = _PLACE.sub(lambda match, value=value: value, text, count=1)
    return text.replace("\\n", "\n")[:MAX_LENGTH]


def _tilde(before: str, text: str, first: bool, known: Known) -> str:
    if first and text.startswith("~"):
        return _home(text, known)
    for sign in ("=~", ":~"):
        head, found, tail = text.partition(sign)
        if found:
            return head + sign[0] + _home("~" + tail, known)
    if before.endswith("=") and text.startswith("~"):
        return _home(text, known)
    return text


def _home(text: str, known: Known) -> str:
    name, slash, rest = text[1:].partition("/")
    if name == "":
        return known.place.home + slash + rest
    if name == "+":
        return known.folders[-1] + slash + rest
    if name == known.place.user:
        return known.place.home + slash + rest
    if name == "root":
        return "/root" + slash + rest
    if name == "-":
        return UNKNOWN + slash + rest
    return "/home/" + name + slash + rest if name.isalnum() else text
