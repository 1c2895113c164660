"""Doubles for tests of limnos and of plugins: a clock turned by hand, counted ids, a log in memory."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from limnos.kernel.events import Event
from limnos.kernel.seams import Answer, Question

_ROUNDING = 1e-6  # seconds
BEGIN = datetime(2026, 3, 14, 20, 31, 4, 118000, tzinfo=UTC)


class FixedClock:
    """A clock that stands still until somebody sleeps or moves it. Implements `kernel.seams.Clock`."""

    def __init__(self, begin: datetime = BEGIN) -> None:
        self.moment = begin
        self.slept: list[float] = []

    def now(self) -> str:
        """See `Clock`."""
        return _iso(self.moment)

    def later(self, seconds: float) -> str:
        """See `Clock`."""
        return _iso(self.moment + timedelta(seconds=seconds))

    def monotonic(self) -> float:
        """See `Clock`."""
        return (self.moment - BEGIN).total_seconds()

    async def sleep(self, seconds: float) -> None:
        """Return at once, `seconds` later."""
        self.slept.append(seconds)
        self.move(seconds)

    def move(self, seconds: float) -> None:
        """Turn the clock on."""
        self.moment += timedelta(seconds=seconds)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class HandClock(FixedClock):
    """A clock on which those who sleep wait until a test turns it on. Implements `kernel.seams.Clock`."""

    def __init__(self, begin: datetime = BEGIN) -> None:
        super().__init__(begin)
        self._waiting: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved on by `seconds`."""
        self.slept.append(seconds)
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((self.monotonic() + seconds, waiting))
        await waiting

    def move(self, seconds: float) -> None:
        """Turn the clock on, and wake who has slept long enough."""
        super().move(seconds)
        for when, waiting in self._waiting:
            if when <= self.monotonic() + _ROUNDING and not waiting.done():
                waiting.set_result(None)
        self._waiting = [one for one in self._waiting if not one[1].done()]


class CountedIds:
    """Ids that count: `c1`, `c2`, `a1`. Implements `kernel.seams.Ids`."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def new(self, kind: str) -> str:
        """See `Ids`."""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"{kind[0]}{self._counts[kind]}"


@dataclass
class MemoryLog:
    """A log that only remembers. Implements `kernel.seams.EventLog`."""

    events: list[Event] = field(default_factory=list[Event])
    durable: list[int] = field(default_factory=list[int])

    def append(self, event: Event, *, durable: bool = False) -> None:
        """See `EventLog`."""
        self.events.append(event)
        if durable:
            self.durable.append(event.seq)


class MemoryBlobs:
    """Payloads in memory. Implements `kernel.seams.Blobs`."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """See `Blobs`."""
        block = f"b{len(self._data) + 1}"
        self._data[block] = data
        return block

    def get(self, block: str) -> bytes:
        """See `Blobs`."""
        return self._data[block]


class MemorySpending:
    """Money in memory. Implements `kernel.seams.Spending`."""

    def __init__(self) -> None:
        self.sum = Decimal(0)

    def add(self, cost: Decimal) -> None:
        """See `Spending`."""
        self.sum += cost

    def today(self) -> Decimal:
        """See `Spending`."""
        return self.sum

    def total(self) -> Decimal:
        """See `Spending`."""
        return self.sum


@dataclass(frozen=True)
class FixedFolder:
    """A folder that nobody replaces. Implements `kernel.seams.Folder`."""

    path: str = "/work"

    def identity(self) -> str:
        """See `Folder`."""
        return "1:1"


class ListedAnswers:
    """An approver that gives prepared answers and fails when asked once too often."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        """See `kernel.seams.Approver`."""
        self.asked.append(question)
        if not self._answers:
            raise AssertionError(f"nobody expected to be asked about {question.tool}")
        return self._answers.pop(0)
