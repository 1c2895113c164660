"""What a person moves between the layers of an open session: pins, and steps that come back or sink."""

from collections.abc import Callable, Sequence
from typing import Protocol

from limnos.agent.window_view import view_of
from limnos.kernel.errors import LimitError, UsageError
from limnos.kernel.events import StepsRecalled, UnitPinned
from limnos.kernel.stream import EventStream
from limnos.kernel.window_view import ColdUnit, WindowView

LISTED = 12
PINNED_SHARE = 0.25  # of the request budget: beyond it, what is pinned would crowd out the rest


class Cold(Protocol):
    """The cold layer of one session."""

    async def standing(self, units: Sequence[str]) -> Sequence[str]:
        """Those of these ids that lie in it."""
        ...

    async def listed(self, text: str, limit: int) -> Sequence[ColdUnit]:
        """What has to do with `text`, best first; without a text the newest."""
        ...


class Moves:
    """The window of one session as a person changes it. Each change is an event of the session."""

    def __init__(
        self, stream: EventStream, count: Callable[[str], int], budget: Callable[[], int], cold: Cold
    ) -> None:
        self._stream = stream
        self._count = count
        self._budget = budget
        self._cold = cold

    def view(self) -> WindowView:
        """What fills the window now."""
        return view_of(self._stream.conversation, self._count)

    def pin(self, unit: str, *, pinned: bool = True) -> None:
        """Keep a unit of the window whatever is pruned, or let go of it.

        Raises UsageError for what does not stand in the window, LimitError when pins would take too much.
        """
        units = {row.id: row for row in self.view().units}
        chosen = self._stream.conversation.window.pinned
        if unit not in (units if pinned else chosen):
            what = "in the window" if pinned else "pinned"
            raise UsageError(f"step {unit.removeprefix('#')} is not {what}", "/context lists what is")
        taken = sum(row.tokens for row in units.values() if row.id in {*chosen, unit})
        most = int(self._budget() * PINNED_SHARE)
        if pinned and taken > most:
            raise LimitError(
                f"pinned steps would take {taken} tokens, and may take {most}, a quarter of the window",
                "/unpin another one first",
            )
        self._stream.emit(UnitPinned(unit=unit, pinned=pinned), durable=True)

    async def cold(self, text: str) -> Sequence[ColdUnit]:
        """What has left the window: by a text, or the newest."""
        return await self._cold.listed(text, LISTED)

    async def recall(self, units: Sequence[str]) -> None:
        """Bring sunk units back until the turn ends. Raises UsageError for what has not sunk."""
        found = await self._cold.standing(units)
        missing = [unit.removeprefix("#") for unit in units if unit not in found]
        if missing:
            what = f"nothing of this session under the waterline is called {', '.join(missing)}"
            raise UsageError(what, "/recall lists what has sunk")
        self._stream.emit(StepsRecalled(units=list(units)), durable=True)
