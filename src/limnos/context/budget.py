"""How large a request may be: a share of the model's window, and what a provider taught about it."""

from typing import NamedTuple

LEAST_BUDGET = 256
LESS = 0.75  # of what was sent, when a provider says that it was too much
INLINE_SHARE = 0.125
WAKE_SHARE = 0.1


class WindowSettings(NamedTuple):
    """`share` of the model's window, less `reserve` tokens for the reply, is the request budget.

    A request above `overflow_ratio` of that budget is pruned down to `prune_target` of it, and the `newest`
    steps stay while they fit. The other shares
    are of the request budget too: tool schemas, the ledger, the section of automatic recall, and how much of
    the prune target may go to units that are relevant but not among the newest.
    """

    share: float = 0.8
    reserve: int = 1024
    prune_target: float = 0.6
    catalogue_share: float = 0.2
    overflow_ratio: float = 1.0
    newest: int = 10
    ledger_share: float = 0.15
    recall_share: float = 0.15
    relevance_share: float = 0.2


class Caps(NamedTuple):
    """The most tokens that each bounded section of a request may take."""

    wake: int
    recall: int
    catalogue: int
    inline: int
    ledger: int


class Budget:
    """The request budget of a model with a window of `context_tokens`, as far as its provider agrees."""

    def __init__(self, settings: WindowSettings) -> None:
        self._settings = settings
        self._limit: int | None = None
        self._ceiling: int | None = None

    def request(self, context_tokens: int) -> int:
        """Tokens a request may have."""
        window = min(context_tokens, self._limit or context_tokens)
        return max(int(window * self._settings.share) - self._settings.reserve, LEAST_BUDGET)

    def bound(self, context_tokens: int) -> int:
        """Tokens above which a request is pruned; never more than the window less the reserve."""
        window = min(context_tokens, self._limit or context_tokens)
        request = self.request(context_tokens)
        free = max(window - self._settings.reserve, request)
        return min(int(request * self._settings.overflow_ratio), free, self._ceiling or free)

    def caps(self, context_tokens: int) -> Caps:
        """The bounds of the sections of a request."""
        request = self.request(context_tokens)
        shares = (
            WAKE_SHARE,
            self._settings.recall_share,
            self._settings.catalogue_share,
            INLINE_SHARE,
            self._settings.ledger_share,
        )
        return Caps(*(int(request * share) for share in shares))

    def overflowed(self, limit: int | None, context_tokens: int, used: int) -> None:
        """Believe the provider's limit; where that changes nothing its count differs from ours: send less."""
        if limit is not None:
            self._limit = min(limit, self._limit or limit)
        if self.request(context_tokens) >= used:
            self._ceiling = int(used * LESS)
