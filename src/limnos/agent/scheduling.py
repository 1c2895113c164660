"""Which input is taken when: rules only, with no clock of their own and nothing that waits.

Inputs wait in one queue. The next one is that of the highest level; within a level an interrupt comes before
what is only queued, and then the older before the younger. One that others went past gains a level each
`PASSED` times, at most `MAX_GAIN`, so that a little one comes at last. A queued input begins when no turn is
open; an interrupt may also set the running turn aside.
"""

from collections.abc import Iterable
from typing import NamedTuple

from limnos.kernel.errors import UsageError

BACKGROUND, MESSAGE, INTERACTIVE, CRITICAL = 1, 2, 3, 4
LEVELS = (BACKGROUND, MESSAGE, INTERACTIVE, CRITICAL)
PLUGIN_LEVEL = INTERACTIVE  # a plugin's input has no higher one
MAX_QUEUE = 256
MAX_SUSPENDED = 4
MAX_GAIN = 2
PASSED = 8
SAFE_SECONDS = 2.0


class Input(NamedTuple):
    """One input; a repeated `client_id` is answered once. `level` is 1 background to 4 critical."""

    text: str
    client_id: str
    source: str
    principal: str
    level: int = INTERACTIVE
    interrupt: bool = False


def check_level(level: int) -> None:
    """Raises UsageError for what is no level."""
    if level not in LEVELS:
        raise UsageError(f"there is no level {level}", "1 background, 2 message, 3 interactive, 4 critical")


class Rank:
    """What a begun turn weighs against interrupts. `safe_until` is in seconds of the monotonic clock."""

    __slots__ = ("gained", "level", "safe_until")

    def __init__(self, level: int = INTERACTIVE) -> None:
        self.level = level
        self.gained = 0
        self.safe_until = 0.0

    @property
    def value(self) -> int:
        """The level with what it gained."""
        return self.level + self.gained

    def was_set_aside(self) -> None:
        """Each time it gains a level, so that it comes to its end."""
        self.gained = min(self.gained + 1, MAX_GAIN)

    def goes_on(self, now: float) -> None:
        """It gets a while to come forward in."""
        self.safe_until = now + SAFE_SECONDS


def may_pre_empt(interrupt: Input, running: Rank, suspended: int) -> bool:
    """Whether `interrupt` outranks the running turn, once that is not safe any more."""
    return interrupt.level > running.value and suspended < MAX_SUSPENDED


class _Waiting:
    __slots__ = ("arrived", "given", "passed")

    def __init__(self, given: Input, arrived: int) -> None:
        self.given = given
        self.arrived = arrived
        self.passed = 0

    @property
    def gained(self) -> int:
        return min(self.passed // PASSED, MAX_GAIN)

    @property
    def order(self) -> tuple[int, bool, int]:
        return -(self.given.level + self.gained), not self.given.interrupt, self.arrived


class Queue:
    """The inputs that wait for a turn of their own."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._last = 0
        self._first = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def inputs(self) -> list[Input]:
        """What waits, in the order in which it will be taken if nothing comes in between."""
        return [one.given for one in self._ordered()]

    def add(self, given: Input) -> None:
        """Put an input behind those of its level."""
        self._last += 1
        self._waiting.append(_Waiting(given, self._last))

    def put_first(self, inputs: Iterable[Input]) -> None:
        """Put inputs before all others of their level, in this order."""
        for given in reversed(list(inputs)):
            self._first -= 1
            self._waiting.append(_Waiting(given, self._first))

    def first(self) -> Input | None:
        """The input that is next."""
        return min(self._waiting, key=lambda one: one.order).given if self._waiting else None

    def interrupt(self) -> Input | None:
        """The interrupt of the highest level; the oldest of several."""
        found = [one for one in self._waiting if one.given.interrupt]
        return min(found, key=lambda one: (-one.given.level, one.arrived)).given if found else None

    def holds(self, client_id: str) -> Input | None:
        """The waiting input of this id."""
        return next((one.given for one in self._waiting if one.given.client_id == client_id), None)

    def take(self, given: Input) -> None:
        """Take an input out to begin with it; older ones that it went past come nearer."""
        taken = next(one for one in self._waiting if one.given is given)
        self._waiting.remove(taken)
        for one in self._waiting:
            one.passed += one.arrived < taken.arrived

    def drop(self, position: int) -> Input | None:
        """Take the input at `position` of `inputs` out for good."""
        if not 0 <= position < len(self._waiting):
            return None
        dropped = self._ordered()[position]
        self._waiting.remove(dropped)
        return dropped.given

    def clear(self) -> list[Input]:
        """Take out all; returns them in order."""
        inputs = self.inputs()
        self._waiting.clear()
        return inputs

    def _ordered(self) -> list[_Waiting]:
        return sorted(self._waiting, key=lambda one: one.order)
