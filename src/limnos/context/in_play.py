"""What is in play: the names that the newest calls were given, and the steps that show what they name."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import islice
from math import exp

from limnos.context.identifiers import is_kept
from limnos.kernel.units import Step, Unit

NEWEST = 300  # steps whose calls count
FADE = 100.0  # steps after which a name counts a third
LEAST_USES = 2


def in_play(units: Sequence[Unit], costs: Mapping[str, int]) -> dict[str, float]:
    """How much each step of `units` shows of what is worked on now, 0 to 1, by id.

    A name that many of the newest calls were given counts most; of the steps whose calls were given it the
    largest shows most of it: a file that was read or written whole, and is edited since. Measured: of what a
    plain tail of a recorded coding session has lost, this is the part that words do not find.
    """
    weights: dict[str, float] = defaultdict(float)
    uses: dict[str, int] = defaultdict(int)
    largest: dict[str, int] = defaultdict(int)
    steps = (unit for unit in reversed(units) if isinstance(unit, Step))
    for age, step in enumerate(islice(steps, NEWEST)):
        for name in _names(step):
            weights[name] += exp(-age / FADE)
            uses[name] += 1
    named = {unit.id: _names(unit) for unit in units if isinstance(unit, Step)}
    for one, names in named.items():
        for name in names:
            largest[name] = max(largest[name], costs[one])
    scores = {
        one: max(
            (weights[name] * costs[one] / largest[name] for name in names if uses[name] >= LEAST_USES),
            default=0.0,
        )
        for one, names in named.items()
    }
    best = max(scores.values(), default=0.0) or 1.0
    return {one: score / best for one, score in scores.items()}


def _names(step: Step) -> set[str]:
    values = (value for call in step.calls for value in (call.arguments or {}).values())
    return {value for value in values if isinstance(value, str) and is_kept(value)}
