"""The prune: which units stay, which sink, and what stands for those in the request."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from limnos import lazy
from limnos.context.budget import WindowSettings
from limnos.context.choice import Choice, always, fill
from limnos.context.frame import Frame
from limnos.context.in_play import in_play
from limnos.context.ledger import Ledger
from limnos.context.markers import MOST_SPANS, bounded, briefer, spans_after
from limnos.context.relevance import WordRelevance
from limnos.context.relevance import query_of as query_of
from limnos.context.shown import Shown
from limnos.context.sizes import Sizes
from limnos.context.sources import Scored, Sources
from limnos.context.standing import Standing
from limnos.kernel.units import Unit
from limnos.sdk.scan import Scanner

DECISIONS = 400
ROUNDS = 8
RELEVANCE_SECONDS = 1.0
WORDS = 0.3  # of a score; the rest is what is in play. Measured: more or less of it falls below a tail
_UNSCORED = Scored(0.0, {})


class Pruned(NamedTuple):
    """What stands after a prune, the ids that sank, and why each unit stayed or sank."""

    standing: Standing
    sunk: tuple[str, ...]
    decisions: list[Mapping[str, Any]]


class Pruner:
    """Prunes one conversation; keeps nothing but caches."""

    def __init__(self, settings: WindowSettings, sizes: Sizes, shown: Shown, sources: Sources) -> None:
        self._settings = settings
        self._sizes = sizes
        self._shown = shown
        self._sources = sources
        self._own = WordRelevance()
        self._ledger = Ledger(Scanner(), sources.identifiers)

    async def prune(self, now: Standing, frame: Frame, query: str) -> Pruned:
        """Choose what stays of `now`, down to the prune target where that can be."""
        choice = always(now, frame, self._shown)
        ledger_room = self._ledger_room(frame, choice)
        rest = [unit for unit in now.units if unit.id not in choice.why]
        scores = await self._scores(now, query, rest, choice)
        room = frame.target - frame.tokens - choice.tokens - ledger_room
        room -= frame.markers
        order = fill(choice, rest, scores, room, self._settings.relevance_share)
        after = self._standing(now, frame, choice, ledger_room)
        # what was set aside for the ledger and the markers, and is not needed for them
        spare = frame.target - frame.tokens - self._shown.cost(after)
        if spare > 0:
            order += fill(choice, rest, scores, spare, self._settings.relevance_share)
            after = self._standing(now, frame, choice, ledger_room)
        for _ in range(ROUNDS):
            over = frame.tokens + self._shown.cost(after) - frame.target
            if over <= 0 or not order:
                break
            while over > 0 and order:
                unit = order.pop()
                over -= choice.drop(unit)
            after = self._standing(now, frame, choice, ledger_room)
        kept = {unit.id for unit in after.units}
        sunk = tuple(unit.id for unit in now.units if unit.id not in kept)
        return Pruned(after, sunk, _decisions(now.units, choice, scores))

    def _ledger_room(self, frame: Frame, choice: Choice) -> int:
        """What the ledger may take: its share, but less where what always stays leaves less."""
        taken = frame.tokens + choice.tokens
        return max(min(frame.ledger, max(frame.target - taken, (frame.bound - taken) // 2)), 0)

    async def _scores(
        self, now: Standing, query: str, rest: Sequence[Unit], choice: Choice
    ) -> dict[str, Scored]:
        """A score for each unit of the rest, where relevance may spend anything at all."""
        if not rest or not self._settings.relevance_share:
            return {}
        words = await self._words(query, rest)
        return _fused(words, in_play(now.units, choice.costs), rest)

    async def _words(self, query: str, units: Sequence[Unit]) -> dict[str, Scored]:
        source = self._sources.relevance
        if source is None:
            scores = await self._own.scores(query, units)
        else:
            try:
                async with lazy.asyncio.timeout(RELEVANCE_SECONDS):
                    scores = await source.scores(query, units)
            except TimeoutError:
                return {}
        return {unit.id: score for unit, score in zip(units, scores, strict=True)}

    def _standing(self, now: Standing, frame: Frame, choice: Choice, ledger_room: int) -> Standing:
        """What stands when all but the chosen units sink."""
        kept = [unit for unit in now.units if choice.keeps(unit)]
        sunk = [unit for unit in now.units if not choice.keeps(unit)]
        if not sunk:
            return Standing(kept, [*now.spans, *choice.notes()], now.ledger, now.hidden)
        named = {unit.id for unit in sunk}
        spans = spans_after(now.spans, now.units, named, choice.too_large)
        spans = self._within(bounded(spans, kept, MOST_SPANS), kept, frame.markers)
        self._ledger.add(now.ledger, [*sunk, *(unit for unit in kept if unit.id in choice.cuts)])
        whole = [unit for unit in kept if unit.id not in choice.cuts]
        ledger = self._ledger.text(whole, ledger_room, self._sizes.plain)
        return Standing(kept, [*spans, *choice.notes()], ledger, now.hidden)

    def _within(self, spans: list[dict[str, Any]], kept: Sequence[Unit], room: int) -> list[dict[str, Any]]:
        """The spans, so brief and so few that their markers take at most `room` tokens; one always stays."""
        while self._marked(spans, kept) > room:
            if not any(map(briefer, spans)):
                if len(spans) == 1:
                    break
                spans = bounded(spans, kept, max(len(spans) * 3 // 4, 1))
        return spans

    def _marked(self, spans: Sequence[Mapping[str, Any]], kept: Sequence[Unit]) -> int:
        return sum(self._sizes.text(self._shown.marker(span, kept)) for span in spans)


def _fused(
    words: Mapping[str, Scored], played: Mapping[str, float], rest: Sequence[Unit]
) -> dict[str, Scored]:
    """One score of the two: of the words, and of what is in play."""
    fused: dict[str, Scored] = {}
    for unit in rest:
        word, play = words.get(unit.id, _UNSCORED), played.get(unit.id, 0.0)
        score = WORDS * word.score + (1 - WORDS) * play
        fused[unit.id] = Scored(score, {**word.terms, "in_play": round(play, 3)})
    return fused


def _decisions(
    units: Sequence[Unit], choice: Choice, scores: Mapping[str, Scored]
) -> list[Mapping[str, Any]]:
    """Why each of the newest units stayed or sank."""
    decisions: list[Mapping[str, Any]] = []
    for unit in units[-DECISIONS:]:
        scored = scores.get(unit.id, _UNSCORED)
        fate = "kept" if choice.keeps(unit) else "sunk"
        why = choice.why.get(unit.id) or ("runaway" if unit.id in choice.too_large else "cold")
        decisions.append(
            {
                "unit": unit.id,
                "tokens": choice.costs.get(unit.id, 0),
                "fate": fate,
                "why": why,
                "score": round(scored.score, 3),
                "terms": dict(scored.terms),
            }
        )
    return decisions
