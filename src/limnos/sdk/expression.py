"""Regular expressions that cost nothing until they are used: large ones take milliseconds to compile."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property


class Expression:
    """A regular expression, compiled at its first use and then kept."""

    def __init__(self, text: str, flags: int = 0) -> None:
        self._text = text
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._text, self._flags)

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of named groups."""
        return self._compiled.groupindex

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As of a pattern."""
        return self._compiled.finditer(text)

    def findall(self, text: str) -> list[str]:
        """As of a pattern."""
        return self._compiled.findall(text)

    def search(self, text: str, begin: int = 0, end: int | None = None) -> re.Match[str] | None:
        """As of a pattern."""
        return self._compiled.search(text, begin, len(text) if end is None else end)

    def match(self, text: str, begin: int = 0) -> re.Match[str] | None:
        """As of a pattern."""
        return self._compiled.match(text, begin)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As of a pattern."""
        return self._compiled.fullmatch(text)

    def sub(self, with_: str | Callable[[re.Match[str]], str], text: str) -> str:
        """As of a pattern."""
        return self._compiled.sub(with_, text)
