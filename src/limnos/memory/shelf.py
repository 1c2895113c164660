"""The shelf of a session that runs: what has sunk lies in the database, or here until it does."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from limnos.kernel.conversation import fold
from limnos.kernel.errors import StorageError
from limnos.kernel.units import Recalled, Unit
from limnos.memory.projection import Stored
from limnos.store.audit import read_history


class SessionShelf:
    """Implements `kernel.units.Shelf`.

    Units that were put stay here until `settled` says that their rows are committed. Where the database
    cannot give a unit, the log is read: nothing that has sunk is ever out of reach.
    """

    def __init__(self, path: Path, load: Callable[[Sequence[str]], Sequence[Stored]]) -> None:
        self._path = path
        self._load = load
        self._lock = threading.Lock()
        self._units: dict[str, Unit] = {}
        self._sunk: dict[str, int] = {}

    def put(self, units: Sequence[Unit]) -> None:
        """See `Shelf`."""
        with self._lock:
            self._units.update((unit.id, unit) for unit in units)

    def take(self, ids: Sequence[str]) -> Sequence[Unit]:
        """See `Shelf`; never raises."""
        with self._lock:
            found = {one: self._units.pop(one) for one in ids if one in self._units}
        missing = [one for one in ids if one not in found]
        if missing:
            found.update((unit.id, unit) for unit in self._stored(missing))
        missing = [one for one in missing if one not in found]
        if missing:
            found.update((unit.id, unit) for unit in self._logged(missing))
        return [found[one] for one in ids if one in found]

    def sunk_at(self, ids: Sequence[str], seq: int) -> None:
        """The event `seq` sank these units."""
        with self._lock:
            self._sunk.update(dict.fromkeys(ids, seq))

    def settled(self, seq: int) -> None:
        """All up to the event `seq` is committed to the database."""
        with self._lock:
            for one in [one for one, sunk in self._sunk.items() if sunk <= seq]:
                del self._sunk[one]
                self._units.pop(one, None)

    def __len__(self) -> int:
        return len(self._units)

    def _stored(self, ids: Sequence[str]) -> Sequence[Unit]:
        try:
            return [stored.unit for stored in self._load(ids)]
        except StorageError:
            return []

    def _logged(self, ids: Sequence[str]) -> Sequence[Unit]:
        wanted = set(ids)
        try:
            units = fold(read_history(self._path).events).units
        except StorageError:
            return []
        return [unit for unit in units if unit.id in wanted and not isinstance(unit, Recalled)]
