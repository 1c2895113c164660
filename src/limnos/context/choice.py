"""Which units stay at a prune: those that always do, then the newest, then what is relevant."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from limnos.context.frame import Frame
from limnos.context.shorten import CannotShrinkError, fit
from limnos.context.shown import Shown
from limnos.context.sources import Scored
from limnos.context.standing import Standing
from limnos.kernel.units import Recalled, Said, Step, Unit

LAST_SHARE = 60  # percent of what is left that the last step may take, where it must be cut
OUTSTANDING = 0.3
MOST_FOR_ONE = 0.6


@dataclass(slots=True)
class Choice:
    """The units that stay by id, with the reason; `cuts` are those that are shown cut."""

    why: dict[str, str] = field(default_factory=dict[str, str])
    costs: dict[str, int] = field(default_factory=dict[str, int])
    cuts: dict[str, int] = field(default_factory=dict[str, int])
    too_large: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def tokens(self) -> int:
        """What the units that stay cost."""
        return sum(self.costs[one] for one in self.why)

    def keeps(self, unit: Unit) -> bool:
        """Whether `unit` stays."""
        return unit.id in self.why

    def keep(self, unit: Unit, why: str) -> None:
        """Let `unit` stay."""
        self.why.setdefault(unit.id, why)

    def drop(self, unit: Unit) -> int:
        """Let `unit` sink after all; returns the tokens that this frees."""
        del self.why[unit.id]
        return self.costs[unit.id]

    def notes(self) -> list[Mapping[str, Any]]:
        """What the log keeps of the units that stay cut."""
        return [{"cut": one, "characters": size} for one, size in self.cuts.items() if one in self.why]


def always(now: Standing, frame: Frame, shown: Shown) -> Choice:
    """What may not sink: the question, what is pinned or held, the section of this turn, the newest steps."""
    choice = Choice(cuts=now.cuts)
    for unit in now.units:
        _measure(unit, choice, frame, shown)
    for unit, why in _fixed(now, frame):
        if unit.id not in choice.too_large:
            choice.keep(unit, why)
    room = frame.target - frame.tokens - choice.tokens - frame.aside
    steps = [unit for unit in now.units if isinstance(unit, Step) and unit.id not in choice.too_large]
    for number, unit in enumerate(reversed(steps[-frame.newest :])):
        cost = 0 if choice.keeps(unit) else choice.costs[unit.id]
        if cost > room and number:
            break
        kept = choice.tokens
        free = max(room + frame.aside, (frame.bound - frame.tokens - kept) * LAST_SHARE // 100)
        if cost > free and not _cut(unit, choice, free, shown) and cost > frame.bound - frame.tokens - kept:
            choice.too_large[unit.id] = _named(unit, cost)
            break
        choice.keep(unit, "recent")
        room -= choice.costs[unit.id] if cost else 0
    return choice


def fill(
    choice: Choice, rest: Sequence[Unit], scores: Mapping[str, Scored], room: int, relevance_share: float
) -> list[Unit]:
    """Let of `rest` the newest stay, then the most relevant that fit, within `room` tokens.

    Returns what stays now, the first to give up at the end.
    """
    free = [
        unit
        for unit in rest
        if not (choice.keeps(unit) or unit.id in choice.too_large or isinstance(unit, Recalled))
    ]
    kept: list[Unit] = []
    left = room
    spared = int(room * relevance_share) if scores else 0
    outstanding = _outstanding(choice, free, scores, room, spared) if spared else None
    if outstanding is not None:
        cost = _keep(outstanding, "relevant", choice, kept)
        left, spared = left - cost, max(spared - cost, 0)
    newest = list(reversed(free))
    for unit in newest:
        if not choice.keeps(unit) and choice.costs[unit.id] <= left - spared:
            left -= _keep(unit, "recent", choice, kept)
    ranked = sorted(newest, key=lambda unit: -scores[unit.id].score) if scores else []
    for unit in ranked:
        if not choice.keeps(unit) and scores[unit.id].score > 0 and choice.costs[unit.id] <= left:
            left -= _keep(unit, "relevant", choice, kept)
    for unit in newest:
        if not choice.keeps(unit) and choice.costs[unit.id] <= left:
            left -= _keep(unit, "recent", choice, kept)
    return kept


def _outstanding(
    choice: Choice, free: Sequence[Unit], scores: Mapping[str, Scored], room: int, spared: int
) -> Unit | None:
    """The unit that shows most of what is relevant, when it would sink with the oldest: a file worked on."""
    would_sink: list[Unit] = []
    left = room - spared
    for unit in reversed(free):
        if choice.costs[unit.id] <= left:
            left -= choice.costs[unit.id]
        elif choice.costs[unit.id] <= room * MOST_FOR_ONE and scores[unit.id].score >= OUTSTANDING:
            would_sink.append(unit)
    return max(would_sink, key=lambda unit: scores[unit.id].score * choice.costs[unit.id], default=None)


def _keep(unit: Unit, why: str, choice: Choice, kept: list[Unit]) -> int:
    choice.keep(unit, why)
    kept.append(unit)
    return choice.costs[unit.id]


def _fixed(now: Standing, frame: Frame) -> Iterator[tuple[Unit, str]]:
    question = next((unit for unit in now.units if isinstance(unit, Said) and unit.turn == frame.turn), None)
    for unit in now.units:
        if unit is question:
            yield unit, "question"
        elif isinstance(unit, Recalled) and unit.turn == frame.turn:
            yield unit, "recalled"
        elif unit.id in frame.pinned:
            yield unit, "pinned"
        elif unit.id in frame.held:
            yield unit, "held"


def _measure(unit: Unit, choice: Choice, frame: Frame, shown: Shown) -> None:
    """What `unit` costs as it would be shown; a runaway of this turn is cut, another one must sink."""
    _, choice.costs[unit.id] = shown.shown(unit, choice.cuts)
    if choice.costs[unit.id] <= frame.runaway:
        return
    stays = unit.turn == frame.turn or unit.id in frame.held or unit.id in frame.pinned
    if not stays or not _cut(unit, choice, frame.runaway, shown):
        choice.cuts.pop(unit.id, None)
        choice.too_large[unit.id] = _named(unit, choice.costs[unit.id])


def _cut(unit: Unit, choice: Choice, room: int, shown: Shown) -> bool:
    """Have `unit` shown within `room` tokens, head and tail of its texts; False when it cannot be."""
    try:
        fitted = fit(shown.shown(unit, {})[0], room, shown.sizes.message)
    except CannotShrinkError:
        return False
    choice.cuts[unit.id], choice.costs[unit.id] = fitted.characters, fitted.tokens
    return True


def _named(unit: Unit, tokens: int) -> str:
    """How a marker names a unit that is too large."""
    if not isinstance(unit, Step):
        return f"{unit.id} ({tokens} tokens)"
    names = list(dict.fromkeys(unit.tools))[:2]
    calls = f", {len(unit.calls)} calls of {', '.join(names)}" if names else ""
    return f"{unit.id} ({tokens} tokens{calls})"
