"""What a turn may use: steps, tokens, seconds and money; and the one hint to wrap up before the end."""

from collections.abc import Callable
from decimal import Decimal
from typing import NamedTuple

from limnos.kernel.errors import LimitError
from limnos.kernel.model import Usage
from limnos.kernel.seams import Clock, Prices, Spending

WRAP_UP_SHARE = 0.8
WRAP_UP = "You are near a limit of this turn. Finish now: answer with what you have, and say what is left."


class Caps(NamedTuple):
    """The limits of one turn, and of what a turn, a day and the persona may cost; a cost of None has none.

    Costs are in the currency of the prices.
    """

    steps: int = 25
    tokens: int = 2_000_000
    seconds: float = 3600.0
    turn_cost: Decimal | None = None
    day_cost: Decimal | None = None
    persona_cost: Decimal | None = None


class Meter:
    """Counts what one turn uses."""

    def __init__(self, caps: Caps, clock: Clock, prices: Prices, spending: Spending) -> None:
        self.caps = caps
        self.steps = 0
        self.tokens = 0
        self.cost = Decimal(0)
        self.currency = "USD"
        self._clock = clock
        self._prices = prices
        self._spending = spending
        self._began = clock.monotonic()
        self._paused: float | None = None
        self._hinted = False

    def go_on(self, steps: int, tokens: int, cost: Decimal) -> None:
        """Begin where an interrupted turn was; time counts from now."""
        self.steps, self.tokens, self.cost = steps, tokens, cost

    def pause(self) -> None:
        """Let no more time count, until `unpause`."""
        self._paused = self._clock.monotonic()

    def unpause(self) -> None:
        """Let time count again."""
        if self._paused is not None:
            self._began += self._clock.monotonic() - self._paused
            self._paused = None

    @property
    def milliseconds(self) -> int:
        """Time since the turn began."""
        return int((self._clock.monotonic() - self._began) * 1000)

    @property
    def seconds_left(self) -> float:
        """What the turn still has of its time."""
        return max(self.caps.seconds - self.milliseconds / 1000, 0.0)

    @property
    def share_of_tokens(self) -> float:
        """How much of the turn's tokens is used, 0 to 1 and above."""
        return self.tokens / self.caps.tokens

    def beneath(self, steps: int) -> "Meter":
        """The meter of a sub-agent: steps of its own; tokens, time and money are this one's too."""
        return _Beneath(self, steps)

    def record(self, model: str, usage: Usage) -> Decimal:
        """Take a request's usage and return its cost."""
        cost, self.currency = self._prices(model, usage)
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        self.cost += cost
        if cost:
            self._spending.add(cost)
        return cost

    def check(self) -> None:
        """Raise LimitError when the next step would pass a limit; the message names it and its setting."""
        caps = self.caps
        if self.steps >= caps.steps:
            raise LimitError(
                f"stopped at {counted_steps(caps.steps)}, the limit of a turn",
                f"limnos config set steps {caps.steps * 2}",
            )
        self.check_use()

    def check_use(self) -> None:
        """Raise LimitError when no more tokens, time or money may be used."""
        caps = self.caps
        if self.tokens >= caps.tokens:
            raise LimitError(
                f"stopped at {self.tokens} tokens, the limit of a turn is {caps.tokens}",
                f"limnos config set turn.tokens {caps.tokens * 2}",
            )
        if self.milliseconds >= caps.seconds * 1000:
            raise self.out_of_time()
        self._check_money("turn", caps.turn_cost, lambda: self.cost, "a turn")
        self._check_money("day", caps.day_cost, self._spending.today, "a day")
        self._check_money("persona", caps.persona_cost, self._spending.total, "this persona")

    def out_of_time(self) -> LimitError:
        """The error of a turn that took too long."""
        seconds = self.caps.seconds
        return LimitError(
            f"stopped after {seconds:g} s, the limit of a turn",
            f"limnos config set turn.seconds {seconds * 2:g}",
        )

    def _check_money(self, key: str, cap: Decimal | None, spent: Callable[[], Decimal], what: str) -> None:
        if cap is not None and spent() >= cap:
            raise LimitError(
                f"stopped at {cap} {self.currency}: your cap for {what}",
                f"limnos config set cap.{key} {cap * 2}" + (", or go on tomorrow" if key == "day" else ""),
            )

    def hint(self, window_share: float) -> str:
        """The wrap-up note, once, when steps, tokens or the window are used to 80 %; else empty."""
        share = max(self.steps / self.caps.steps, self.share_of_tokens, window_share)
        if self._hinted or share < WRAP_UP_SHARE:
            return ""
        self._hinted = True
        return WRAP_UP


class _Beneath(Meter):
    """Counts what a sub-agent uses, also on the meter above it, whose limits hold."""

    def __init__(self, above: Meter, steps: int) -> None:
        super().__init__(above.caps._replace(steps=steps), above._clock, above._prices, above._spending)
        self._above = above

    @property
    def seconds_left(self) -> float:
        return self._above.seconds_left

    @property
    def share_of_tokens(self) -> float:
        return self._above.share_of_tokens

    def record(self, model: str, usage: Usage) -> Decimal:
        cost = self._above.record(model, usage)
        self.currency = self._above.currency
        self.tokens += usage.prompt_tokens + usage.completion_tokens
        self.cost += cost
        return cost

    def check(self) -> None:
        if self.steps >= self.caps.steps:
            what = f"stopped at {counted_steps(self.caps.steps)}, the budget of this sub-agent"
            raise LimitError(what, "give it a smaller task, or more max_steps")
        self.check_use()

    def check_use(self) -> None:
        self._above.check_use()

    def out_of_time(self) -> LimitError:
        return self._above.out_of_time()


def counted_steps(count: int) -> str:
    """`1 step`, `8 steps`."""
    return f"{count} step{'s' * (count != 1)}"
