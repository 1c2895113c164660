"""Relevance without a memory: the words of the input against those of each unit in the window (BM25)."""

from collections import Counter
from collections.abc import Sequence
from math import log

from limnos.context.sources import Scored
from limnos.kernel.conversation import Conversation
from limnos.kernel.messages import result_text, text_of
from limnos.kernel.units import Step, Unit
from limnos.retrieval.words import terms

READ_CHARACTERS = 6_000  # of one unit
QUERY_CHARACTERS = 2_000
KNOWN_UNITS = 512
SATURATION = 0.9  # k1 and b of BM25, as in the baselines of the benchmark
LENGTH = 0.4


class WordRelevance:
    """BM25 over the units that it is given; their words are counted once."""

    def __init__(self) -> None:
        self._known: dict[str, Counter[str]] = {}

    async def scores(self, query: str, units: Sequence[Unit]) -> Sequence[Scored]:
        """See `sources.Relevance`; the best unit has 1."""
        words = [self._words(unit) for unit in units]
        sizes = [sum(counts.values()) for counts in words]
        mean = sum(sizes) / len(sizes) if sizes else 1.0
        scores = [0.0] * len(units)
        for term in set(terms(query[:QUERY_CHARACTERS])):
            holders = [place for place, counts in enumerate(words) if term in counts]
            weight = log(1 + (len(units) - len(holders) + 0.5) / (len(holders) + 0.5))
            for place in holders:
                often = words[place][term]
                norm = SATURATION * (1 - LENGTH + LENGTH * sizes[place] / max(mean, 1.0))
                scores[place] += weight * often * (SATURATION + 1) / (often + norm)
        best = max(scores, default=0.0) or 1.0
        return [Scored(score / best, {"lexical": round(score / best, 3)}) for score in scores]

    def _words(self, unit: Unit) -> Counter[str]:
        if unit.id not in self._known:
            while len(self._known) >= KNOWN_UNITS:
                del self._known[next(iter(self._known))]
            self._known[unit.id] = Counter(terms(text_to_compare(unit)))
        return self._known[unit.id]


def text_to_compare(unit: Unit) -> str:
    """What a unit is about, bounded: its text, its arguments, and the beginnings of its results."""
    if not isinstance(unit, Step):
        return unit.text[:READ_CHARACTERS]
    share = READ_CHARACTERS // (2 + len(unit.results))
    parts = [text_of(unit.parts)[:share]]
    for call in unit.calls:
        parts.append(call.name)
        parts += [str(value)[:share] for value in (call.arguments or {}).values()]
    parts += [result_text(result)[:share] for result in unit.results.values()]
    return "\n".join(parts)[:READ_CHARACTERS]


def query_of(conversation: Conversation) -> str:
    """What is asked for now: the last message of a person, the plan, and the last calls."""
    parts: list[str] = []
    for unit in reversed(conversation.units):
        if isinstance(unit, Step):
            if not parts and unit.calls:
                parts += [f"{call.name} {_short(call.arguments)}" for call in unit.calls[-2:]]
        elif unit.turn == conversation.turn or not any(parts):
            parts.append(unit.text)
            break
    parts += [str(item.get("text", item.get("title", ""))) for item in conversation.plan[:10]]
    return "\n".join(parts)[:QUERY_CHARACTERS]


def _short(arguments: object) -> str:
    return str(dict(arguments or {}))[: QUERY_CHARACTERS // 4]  # type: ignore[call-overload]
