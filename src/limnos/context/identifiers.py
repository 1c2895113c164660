"""Values of a unit that a later call may need exactly as they are: paths, ids, codes, addresses, numbers."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from limnos.kernel.messages import result_text, text_of
from limnos.kernel.units import Recalled, Said, Step, Unit
from limnos.sdk.scan import Scanner

READ_CHARACTERS = 60_000  # of one text, half from its beginning and half from its end
MOST_TOKENS = 400  # of one unit
KNOWN_UNITS = 256
SHORTEST = 3
LONGEST = 120

_SHAPES = re.compile(
    r"(?P<address>[A-Za-z][\w+.-]{1,12}://[^\s<>\"'`()\[\]{}|\\,;]{3,120})"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,32}){1,6})"
    r"|(?P<path>(?:~|\.{1,2})?/?(?:[\w.@+-]{1,64}/){1,16}[\w.@+-]{1,80}|[A-Za-z]:\\[\w.\\ -]{2,120})"
    r"|(?P<joined>[#$]?\w{1,64}(?:[.:_-]\w{1,64}){1,12})"
    r"|(?P<word>[#$]?\w{3,64})"
)
_QUOTED = re.compile(r"\"([^\"\n\\]{3,80})\"|'([^'\n\\]{3,80})'(?!\w)|`([^`\n]{3,80})`")
_NAMES = re.compile(r"\b[A-Z][\w'-]+(?: [A-Z][\w'-]+){1,3}\b")
_HUMP = re.compile(r"[a-z][A-Z]")
_SECRET_LABEL = re.compile(
    r"(?i)pass(?:word|wd|phrase)|\bpwd\b|secret|token|api.?key|credential|authori[sz]ation|bearer"
)
_SPOKEN_SECRET = re.compile(
    r"(?i)\b(?:pass(?:word|wd|phrase|code)|pwd|pin|secret|token|key)\b\s{0,3}(?:is|was|=|:)\s{0,3}\S{1,200}"
)


class Value(NamedTuple):
    """One value. `rank` is 0 for what stood in a message or in arguments, 1 in a reply, 2 in a result."""

    token: str
    rank: int


class Values:
    """Reads the values of units; those of the last few hundred are kept. What `scanner` finds is none."""

    def __init__(self, scanner: Scanner) -> None:
        self._scanner = scanner
        self._known: dict[str, list[Value]] = {}

    def of(self, unit: Unit) -> list[Value]:
        """The values of `unit`, each once with its best rank, in order of rank, then of place; bounded."""
        if unit.id not in self._known:
            while len(self._known) >= KNOWN_UNITS:
                del self._known[next(iter(self._known))]
            self._known[unit.id] = self._read(unit)
        return self._known[unit.id]

    def _read(self, unit: Unit) -> list[Value]:
        found: dict[str, int] = {}
        for rank, token in _ranked(unit, self._bounded):
            if rank < found.get(token, 9) and is_kept(token):
                found[token] = rank
        ordered = sorted(found.items(), key=lambda item: item[1])
        return [Value(token, rank) for token, rank in ordered[:MOST_TOKENS]]

    def _bounded(self, text: str) -> str:
        """Beginning and end of `text`; secrets are hidden as long as they have their label."""
        if len(text) > READ_CHARACTERS:
            text = f"{text[: READ_CHARACTERS // 2]}\n{text[-READ_CHARACTERS // 2 :]}"
        return self._hidden(text) if _SECRET_LABEL.search(text) else text

    def _hidden(self, text: str) -> str:
        """`text` scanned where a label stands, and on the line behind it: a scan costs 2 µs a character."""
        lines = text.split("\n")
        labelled = [place for place, line in enumerate(lines) if _SECRET_LABEL.search(line)]
        for place in reversed(labelled):
            pair = "\n".join(lines[place : place + 2])
            lines[place : place + 2] = [_SPOKEN_SECRET.sub("", self._scanner.hide(pair))]
        return "\n".join(lines)


def is_kept(token: str) -> bool:
    """Whether a value can stand on a line of its own."""
    return SHORTEST <= len(token) <= LONGEST and token.isprintable() and token == token.strip()


def _ranked(unit: Unit, bounded: Callable[[str], str]) -> Iterator[tuple[int, str]]:
    match unit:
        case Said():
            text = bounded(unit.text)
            yield from ((0, token) for token in (*shapes(text), *_quoted(text), *_NAMES.findall(text)))
        case Step():
            for call in unit.calls:
                yield from _arguments(dict(call.arguments or {}), bounded)
            yield from ((1, token) for token in shapes(bounded(text_of(unit.parts))))
            for result in unit.results.values():
                text = bounded(result_text(result))
                yield from ((2, token) for token in (*shapes(text), *_quoted(text)))
        case Recalled():
            pass


def shapes(text: str) -> Iterator[str]:
    """The pieces of `text` that look like a path, an id, a code, a version, an address or a number."""
    for match in _SHAPES.finditer(text):
        token = match.group().rstrip(".:-/")
        if match.lastgroup in ("address", "mail", "path") or _is_name(token):
            yield token


def _is_name(token: str) -> bool:
    """Whether a word is one that is not looked up in a dictionary."""
    has_digit = any(map(str.isdigit, token))
    if token.isdigit():
        return len(token) >= 4
    if has_digit:
        return len(token) >= 4
    return (
        "_" in token.strip("_")
        or "." in token
        or bool(_HUMP.search(token))
        or (token.isupper() and len(token) > 2)
    )


def _quoted(text: str) -> Iterator[str]:
    for match in _QUOTED.finditer(text):
        yield next(group for group in match.groups() if group)


def _arguments(value: Any, bounded: Callable[[str], str], label: str = "") -> Iterator[tuple[int, str]]:
    """Short values whole, of longer ones what stands in them; not what is labelled as a secret."""
    match value:
        case str() if label and _SECRET_LABEL.search(label):
            pass
        case str():
            text = bounded(value)
            if text == value and len(value) <= LONGEST:
                yield 0, value
            yield from ((1, token) for token in shapes(text))
        case dict():
            for name, item in cast("dict[str, Any]", value).items():
                yield from _arguments(item, bounded, str(name))
        case list():
            for item in cast("list[Any]", value)[:MOST_TOKENS]:
                yield from _arguments(item, bounded, label)
        case int() | float() if not isinstance(value, bool) and len(str(value)) >= SHORTEST + 1:
            yield 0, str(value)
        case _:
            pass
