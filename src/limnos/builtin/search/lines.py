"""Lines that hold something, looked at one by one, so that a search can end in the middle of a file."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from limnos import lazy
from limnos.sdk.plugin import Call, ToolFailure
from limnos.sdk.texts import each_line

MAX_LINE, BEFORE = 300, 100  # characters shown of a long line, and of these before what was found
MAX_PATTERN_MEMORY = 64 << 20
# Instructions of a pattern times characters of a line: what one call of RE2, which cannot be interrupted,
# may get. It is at worst 0.3 s: 10,000 characters with a pattern of 2,700 instructions.
MAX_STEPS = 27_000_000


class Watch:
    """When a search has to end: after `seconds`, or once the call was stopped."""

    def __init__(self, call: Call, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._stopped = call.stopped

    def over(self) -> bool:
        """Whether to end now. Cheap: to be asked for every line."""
        return self._stopped.is_set() or time.monotonic() > self._deadline


class Finder(NamedTuple):
    """Where what is looked for begins in the first `most` characters of a line; -1 if it is not there."""

    find: Callable[[str], int]
    most: int | None = None

    def holds(self, line: str) -> bool:
        """Whether it is there."""
        return self.find(line[: self.most]) >= 0


class Hit(NamedTuple):
    """A line, by its number from 1, and what to show of it."""

    number: int
    text: str


class LineSearch:
    """The lines of texts that hold what `finder` looks for, until `watch` is over.

    `unseen` counts lines without a hit whose end was not looked at.
    """

    def __init__(self, finder: Finder, watch: Watch) -> None:
        self.finder = finder
        self._watch = watch
        self.unseen = 0

    def hits(self, text: str) -> Iterator[Hit]:
        """One by one, so that who has enough can stop."""
        find, most = self.finder
        for number, whole in enumerate(each_line(text), 1):
            if self._watch.over():
                return
            line = whole.rstrip("\r\n")
            place = find(line if most is None else line[:most])
            if place >= 0:
                yield Hit(number, excerpt(line, place))
            elif most is not None and len(line) > most:
                self.unseen += 1


def plain(query: str) -> Finder:
    """Finds `query` as it is, in any case when it holds no capital."""
    any_case = query == query.lower()
    wanted = query.casefold() if any_case else query

    def find(line: str) -> int:
        return (line.casefold() if any_case else line).find(wanted)

    return Finder(find)


def pattern(expression: str, *, any_case: bool = False) -> Finder:
    """Finds a regular expression, in as much of a line as it can go through at once. Raises ToolFailure."""
    re2: Any = lazy.re2
    options = re2.Options()
    options.case_sensitive = not any_case
    options.log_errors = False
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        compiled = re2.compile(expression, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ToolFailure(
            "invalid_arguments", f"{expression!r} is no regular expression: {error}", "use plain text"
        ) from None

    def find(line: str) -> int:
        found = compiled.search(line)
        return found.start() if found else -1

    return Finder(find, max(1, MAX_STEPS // compiled.programsize))


def excerpt(line: str, place: int) -> str:
    """`line` without the blanks around it; of a long one the part around `place`."""
    text = line.strip()
    if len(text) <= MAX_LINE:
        return text
    place -= len(line) - len(line.lstrip())
    start = max(0, min(place - BEFORE, len(text) - MAX_LINE))
    end = start + MAX_LINE
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
