"""What of a session's units stands in the window, as its events tell it: sunk, recalled, held, pinned."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from limnos.kernel.memory_events import ContextChanged, MemoryRecalled, StepsRecalled, UnitPinned
from limnos.kernel.units import Recalled, Said, Shelf, Unit

MOST_SEEN = 1024


class Sizes(NamedTuple):
    """The newest account of a request, in tokens; as in `ContextChanged`."""

    used: int
    budget: int
    reserve: int
    system: int


class WindowState:
    """What stands for the units that have sunk, and which units may not sink.

    `markers` and `ledger` are those of the last prune. `held` are recalled units, up to the end of the turn;
    `pinned` those that a person wants to stay; `seen` what of memory the model has read in this session.
    `sizes` is the newest account of a request, `sunk` how many units are not in the window.
    """

    def __init__(self) -> None:
        self.markers: Sequence[Mapping[str, Any]] = []
        self.ledger = ""
        self.held: set[str] = set()
        self.pinned: set[str] = set()
        self.seen: dict[str, None] = {}
        self.sizes: Sizes | None = None
        self.sunk = 0

    def begin_turn(self, turn: int) -> None:
        """What was recalled for the turn before is held no longer."""
        self.held.clear()

    def apply(
        self,
        event: ContextChanged | MemoryRecalled | StepsRecalled | UnitPinned,
        units: list[Unit],
        shelf: Shelf | None,
    ) -> None:
        """Move what `event` moves; costs what the window holds. Without a shelf nothing moves."""
        match event:
            case UnitPinned():
                (self.pinned.add if event.pinned else self.pinned.discard)(event.unit)
            case ContextChanged():
                self.sizes = Sizes(event.used, event.budget, event.reserve, event.system)
                self._sink(event, units, shelf)
            case MemoryRecalled():
                self._see(str(hit.get("unit", "")) for hit in event.hits)
                if shelf is not None and event.text:
                    _place_before_input(units, Recalled(event.seq, event.turn, event.time, event.text))
            case StepsRecalled():
                self._see(event.units)
                if shelf is not None:
                    self.held.update(event.units)
                    standing = {unit.id for unit in units}
                    for unit in shelf.take([one for one in event.units if one not in standing]):
                        _place_in_time(units, unit)
                        self.sunk -= 1

    def _sink(self, event: ContextChanged, units: list[Unit], shelf: Shelf | None) -> None:
        if not event.sunk:
            return
        self.markers, self.ledger = event.markers, event.ledger
        if shelf is not None:
            sunk = set(event.sunk)
            leaving = [unit for unit in units if unit.id in sunk and not isinstance(unit, Recalled)]
            shelf.put(leaving)
            self.sunk += len(leaving)
            units[:] = [unit for unit in units if unit.id not in sunk]

    def _see(self, ids: Any) -> None:
        for one in ids:
            self.seen.pop(one, None)
            self.seen[one] = None
        while len(self.seen) > MOST_SEEN:
            del self.seen[next(iter(self.seen))]


def _place_before_input(units: list[Unit], recalled: Recalled) -> None:
    """Stand before the first message of the newest turn, which is read last."""
    at = len(units)
    while at and units[at - 1].turn == recalled.turn:
        at -= 1
    first = next((place for place in range(at, len(units)) if isinstance(units[place], Said)), len(units))
    units.insert(first, recalled)


def _place_in_time(units: list[Unit], unit: Unit) -> None:
    at = len(units)
    while at and units[at - 1].seq > unit.seq:
        at -= 1
    # what memory put before an input has a higher number than it: both are later than `unit`
    while at and isinstance(units[at - 1], Recalled) and units[at - 1].turn > unit.turn:
        at -= 1
    units.insert(at, unit)
