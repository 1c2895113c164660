"""What a prune has to go by."""

from collections.abc import Collection
from typing import NamedTuple

RUNAWAY = 4  # a unit above a quarter of the budget


class Frame(NamedTuple):
    """What a prune has to go by: `tokens` of the fixed parts, the bound and the target of the whole request.

    `turn` is the turn that runs, `held` and `pinned` are ids that may not sink.
    """

    tokens: int
    bound: int
    target: int
    turn: int
    held: Collection[str]
    pinned: Collection[str]

    @property
    def runaway(self) -> int:
        """Tokens above which a unit is too large to stand."""
        return self.bound // RUNAWAY
