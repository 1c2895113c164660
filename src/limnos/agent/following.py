"""A running session and the memory of its persona: when the one is told of the other."""

import asyncio
from pathlib import Path

from limnos.agent.persona_memory import LateShelf, PersonaMemory
from limnos.kernel.events import ContextChanged, Event, TurnStarted
from limnos.kernel.stream import EventStream


class Following:
    """Has memory follow the session of `stream` from the first prune on, or from its second turn.

    A session of one short turn leaves that to whoever needs the memory next: all of it stands in the log.
    """

    def __init__(self, persona: PersonaMemory, stream: EventStream, path: Path, shelf: LateShelf) -> None:
        self._persona = persona
        self._stream = stream
        self._path = path
        self._shelf = shelf
        self._attached = False
        self._turns = 0
        self._leave = stream.listen(self._hear)

    def attach(self) -> None:
        """Have memory follow from now on; it reads what came before from the log."""
        if not self._attached:
            self._attached = True
            self._shelf.settle(self._stream.conversation.last_seq)
            self._persona.get().attach(self._stream, self._path)

    async def level(self) -> None:
        """Have in memory what the session has done up to now. Raises StorageError."""
        self.attach()
        await asyncio.to_thread(self._persona.get().flush, self._stream.session)

    def close(self) -> None:
        """Follow no longer."""
        self._leave()
        if self._attached:
            self._persona.get().detach(self._stream.session)

    def _hear(self, event: Event) -> None:
        match event:
            case ContextChanged() if event.sunk and not event.agent:
                self.attach()
            case TurnStarted():
                self._turns += 1
                if self._turns > 1:
                    self.attach()
            case _:
                pass
