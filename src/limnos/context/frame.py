"""What a prune has to go by."""

from collections.abc import Collection
from typing import NamedTuple

RUNAWAY = 4  # a unit above a quarter of the budget
MARKER_SHARE = 0.04  # of what the fixed parts leave


class Frame(NamedTuple):
    """What a prune has to go by: `tokens` of the fixed parts, the bound and the target of the whole request.

    `ledger` is the most that the ledger may take. `turn` is the turn that runs, `newest` how many steps
    stay while they fit, `held` and `pinned` are ids
    that may not sink.
    """

    tokens: int
    bound: int
    target: int
    ledger: int
    turn: int
    newest: int
    held: Collection[str]
    pinned: Collection[str]

    @property
    def markers(self) -> int:
        """What all markers together may take; one always stands."""
        return int((self.bound - self.tokens) * MARKER_SHARE)

    @property
    def aside(self) -> int:
        """What is set aside for markers and ledger, at most a third of what a prune has to give away."""
        return min(self.ledger + self.markers, max(self.target - self.tokens, 0) // 3)

    @property
    def runaway(self) -> int:
        """Tokens above which a unit is too large to stand."""
        return self.bound // RUNAWAY
