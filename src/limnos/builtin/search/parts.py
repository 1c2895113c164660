"""Lines that hold parts of a text that no line holds whole: people rarely ask in the words of the file."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from limnos import lazy
from limnos.builtin.search.lines import pattern
from limnos.sdk.expression import Expression

MOST_KEPT = 5_000
MOST_PARTS = 32
SHORTEST, LONGEST = 3, 64  # characters of a part

_WORD = re.compile(r"[^\W_]+")
_EAST_ASIAN = Expression("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_COMMON = frozenset({
    "and", "are", "but", "can", "did", "does", "for", "from", "had", "has", "have", "her", "his", "how",
    "its", "not", "our", "she", "that", "the", "their", "them", "they", "this", "was", "were", "what",
    "when", "where", "which", "who", "why", "will", "with", "you", "your",
})  # fmt: skip


class PartialMatch(NamedTuple):
    """A line with its place, and which of the parts stand in it."""

    line: str
    parts: frozenset[str]


def parts_of(query: str) -> list[str]:
    """What a line may hold of `query`: its words without a plural's s, and pairs of East Asian characters.

    Nothing when that would be `query` itself; common English words and very short ones are no parts. Of a
    long query the first `MOST_PARTS`, of a long word its beginning.
    """
    low = query.casefold()
    found: list[str] = []
    for run in _EAST_ASIAN.findall(low):
        found += [run[place : place + 2] for place in range(len(run) - 1)]
    for word in _WORD.findall(_EAST_ASIAN.sub(" ", low)):
        if len(word) >= SHORTEST and word not in _COMMON:
            found.append(word[:-1] if word.endswith("s") and len(word) > SHORTEST else word)
    cut = (part[:LONGEST] for part in found)
    return [] if found == [low] else list(dict.fromkeys(cut))[:MOST_PARTS]


class PartSearch:
    """Collects lines with parts of a query and ranks them by inverse document frequency.

    A part that few lines hold says more than a frequent one; a line is a document.
    """

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self._matches: list[PartialMatch] = []
        re2: Any = lazy.re2
        # finds a line with one of the parts
        self.finder = pattern("|".join(map(re2.escape, parts)), any_case=True)

    @property
    def full(self) -> bool:
        """Whether no more lines are kept."""
        return len(self._matches) >= MOST_KEPT

    def add(self, lines: Iterable[str]) -> None:
        """Keep `lines` as long as there is room; what stands before one, the name of its file, counts too."""
        for line in islice(lines, MOST_KEPT - len(self._matches)):
            low = line.casefold()
            self._matches.append(PartialMatch(line, frozenset(part for part in self._parts if part in low)))

    def best(self, most: int) -> list[str]:
        """Up to `most` lines, those with the most telling parts first, the earlier of two like ones first."""
        counts = Counter(part for match in self._matches for part in match.parts)
        ranked = sorted(self._matches, key=lambda match: -sum(1 / counts[part] for part in match.parts))
        return [match.line for match in ranked[:most]]
