"""The memory of a persona as sessions reach it: nothing is loaded before somebody needs it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from limnos.kernel.conversation import Conversation, fold
from limnos.kernel.events import Event
from limnos.kernel.units import Unit
from limnos.store.audit import AuditLog

if TYPE_CHECKING:
    from pathlib import Path

    from limnos.memory.memory import Memory
    from limnos.memory.shelf import SessionShelf
    from limnos.retrieval.embedder import Embedder

SHORT = 1 << 20  # bytes of a log that is read whole, without asking the database


class PersonaMemory:
    """Makes the memory with `make` at its first use, and what it finds things by meaning with.

    `logs` lists the logs of all sessions.
    """

    def __init__(
        self, make: "Callable[[], tuple[Memory, Embedder | None]]", logs: "Callable[[], Sequence[Path]]"
    ) -> None:
        self._make = make
        self._memory: Memory | None = None
        self._embedder: Embedder | None = None
        self.logs = logs

    def get(self) -> "Memory":
        """The memory."""
        if self._memory is None:
            self._memory, self._embedder = self._make()
        return self._memory

    def has_others(self, session: str) -> bool:
        """Whether the persona has a session that is not this one."""
        return any(not path.stem.endswith(f"-{session}") for path in self.logs())

    async def close(self) -> None:
        """Let go of all of it; the next use begins anew."""
        memory, self._memory = self._memory, None
        embedder, self._embedder = self._embedder, None
        if memory is not None:
            await memory.stop()
        if embedder is not None:
            await embedder.close()


class Opened(NamedTuple):
    """A session that is open for writing. `events` are those that its parts are made from."""

    log: AuditLog
    conversation: Conversation
    events: Sequence[Event]
    damaged: bool


class LateShelf:
    """Implements `kernel.units.Shelf`: units stay here until the memory is there and takes them over."""

    def __init__(self, load: "Callable[[], SessionShelf]") -> None:
        self._load = load
        self._shelf: SessionShelf | None = None
        self._early: dict[str, Unit] = {}

    def put(self, units: Sequence[Unit]) -> None:
        """See `Shelf`."""
        if self._shelf is not None:
            self._shelf.put(units)
        else:
            self._early.update((unit.id, unit) for unit in units)

    def take(self, ids: Sequence[str]) -> Sequence[Unit]:
        """See `Shelf`."""
        found = {one: self._early.pop(one) for one in ids if one in self._early}
        missing = [one for one in ids if one not in found]
        if missing:
            found.update((unit.id, unit) for unit in self.settle().take(missing))
        return [found[one] for one in ids if one in found]

    def settle(self, seq: int = 0) -> "SessionShelf":
        """Hand over to the shelf of the memory; what is here had sunk by the event `seq`."""
        if self._shelf is None:
            self._shelf = self._load()
        early, self._early = self._early, {}
        self._shelf.put(list(early.values()))
        if seq:
            self._shelf.sunk_at(list(early), seq)
        return self._shelf


def open_log(persona: PersonaMemory, session: str, path: "Path") -> tuple[Opened, LateShelf]:
    """Open the log of a session: a short one is read whole, a long one behind the place that memory knows.

    Raises SessionInUseError and StorageError.
    """
    shelf = LateShelf(lambda: persona.get().shelf(session, path))
    if _size(path) <= SHORT:
        log = AuditLog(path)
        history = log.history
        conversation = fold(history.events, history.last_seq, shelf)
        return Opened(log, conversation, history.events, history.damaged), shelf
    resumed = persona.get().resume(session, path)
    shelf.settle()
    return Opened(resumed.log, resumed.conversation, resumed.events, resumed.damaged), shelf


def _size(path: "Path") -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0  # whoever opens it says what is wrong
