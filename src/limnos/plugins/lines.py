"""On which line of a TOML file each value stands, which the TOML readers at hand do not say.

The scan takes all that TOML allows and more. Where it no longer understands the text it ends: there the
TOML reader has an error of its own, with its line. It runs before that reader, which takes time that grows
with the square of a key's parts, and has no bound for depth.
"""

import re
from bisect import bisect_right
from contextlib import suppress
from typing import TypeAlias

from limnos import lazy

Path: TypeAlias = tuple[str | int, ...]

MOST_DEPTH = 32
MOST_DIGITS = 300  # characters of a number, a date or a truth

_SPACE = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_PART = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|[A-Za-z0-9_-]+')
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL
)
_PLAIN = re.compile(r"[^,\]}#\n\[{\"'=]+")


class BoundError(ValueError):
    """A text beyond the bounds, and the line where it is."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


class _UnclearError(ValueError):
    """No TOML from here on."""


class Places:
    """The line of every key and every value of a text. Raises BoundError."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = [found.start() for found in re.finditer("\n", text)]
        self._lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._at = 0
        with suppress(_UnclearError):
            self._statements()

    def line(self, path: Path) -> int:
        """The line of `path`; where it is missing, of the table that lacks it. From 1."""
        while path:
            if path in self._lines:
                return self._lines[path]
            path = path[:-1]
        return 1

    @property
    def paths(self) -> frozenset[Path]:
        """All paths that were found."""
        return frozenset(self._lines)

    def _statements(self) -> None:
        prefix: Path = ()
        self._skip(_SPACE)
        while self._at < len(self._text):
            if self._text.startswith("[", self._at):
                prefix = self._header()
            else:
                self._pair(prefix)
            self._skip(_SPACE)

    def _header(self) -> Path:
        start, array = self._at, self._text.startswith("[[", self._at)
        self._at += 2 if array else 1
        keys = self._key()
        self._take("]]" if array else "]")
        path: Path = ()
        for number, key in enumerate(keys, 1):
            path = (*path, key)
            self._note(path, start)
            if array and number == len(keys):
                self._counts[path] = self._counts.get(path, -1) + 1
            if path in self._counts:
                path = (*path, self._counts[path])
                self._note(path, start)
        return path

    def _pair(self, prefix: Path) -> None:
        start = self._at
        path = prefix
        for key in self._key():
            path = (*path, key)
            self._note(path, start)
        self._take("=")
        self._skip(_BLANK)
        self._value(path)

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            self._skip(_BLANK)
            found = _PART.match(self._text, self._at)
            if not found:
                raise _UnclearError
            parts.append(_bare(found.group()))
            if len(parts) > MOST_DEPTH:
                raise BoundError(self._line_at(self._at), f"is nested more than {MOST_DEPTH} levels")
            self._at = found.end()
            self._skip(_BLANK)
            if not self._text.startswith(".", self._at):
                return parts
            self._at += 1

    def _value(self, path: Path) -> None:
        self._note(path, self._at)
        opening = self._text[self._at : self._at + 1]
        if opening == "[":
            self._array(path)
        elif opening == "{":
            self._inline(path)
        else:
            found = _STRING.match(self._text, self._at) or _PLAIN.match(self._text, self._at)
            if not found:
                raise _UnclearError
            if opening not in "\"'" and len(found.group().strip()) > MOST_DIGITS:
                raise BoundError(
                    self._line_at(self._at), f"is a number of more than {MOST_DIGITS} characters"
                )
            self._at = found.end()

    def _array(self, path: Path) -> None:
        self._at += 1
        number = 0
        while not self._closed("]"):
            self._value((*path, number))
            number += 1
            self._skip(_SPACE)
            if not self._text.startswith("]", self._at):
                self._take(",")

    def _inline(self, path: Path) -> None:
        self._at += 1
        while not self._closed("}"):
            self._pair(path)
            self._skip(_SPACE)
            if not self._text.startswith("}", self._at):
                self._take(",")

    def _closed(self, bracket: str) -> bool:
        self._skip(_SPACE)
        closed = self._text.startswith(bracket, self._at)
        self._at += closed
        return closed

    def _take(self, word: str) -> None:
        if not self._text.startswith(word, self._at):
            raise _UnclearError
        self._at += len(word)

    def _skip(self, blank: re.Pattern[str]) -> None:
        found = blank.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _note(self, path: Path, start: int) -> None:
        if len(path) > MOST_DEPTH:
            raise BoundError(self._line_at(start), f"is nested more than {MOST_DEPTH} levels")
        self._lines.setdefault(path, self._line_at(start))

    def _line_at(self, offset: int) -> int:
        return bisect_right(self._ends, offset - 1) + 1


def _bare(part: str) -> str:
    """The key that a part of a dotted key means. Raises _UnclearError."""
    if part.startswith("'"):
        return part[1:-1]
    if not part.startswith('"'):
        return part
    if "\\" not in part:
        return part[1:-1]
    try:
        return lazy.tomllib.loads(f"key = {part}")["key"]
    except ValueError:
        raise _UnclearError from None
