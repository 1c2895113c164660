"""A running session feeds memory: an event costs a look, the work is done elsewhere between turns."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from limnos.kernel.errors import LimnosError, StorageError
from limnos.kernel.events import ContextChanged, Event, TurnFinished, Warned
from limnos.kernel.stream import EventStream
from limnos.memory.mending import MemoryDatabase
from limnos.memory.shelf import SessionShelf

MOST_WAITING = 2000  # events


class Feed:
    """Listens to `stream`; `flush` brings the rows up to the log and returns the number it has reached.

    `flush` runs in a thread, one at a time: when a turn ends, or when 2,000 events wait. What the person
    has to know of `database` is told in the stream; `after` is called when it is done.
    """

    def __init__(
        self,
        stream: EventStream,
        shelf: SessionShelf,
        flush: Callable[[], int],
        database: MemoryDatabase,
        after: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._shelf = shelf
        self._flush = flush
        self._database = database
        self._after = after
        self._lock = threading.Lock()
        self._waiting = 0
        self._unwritten = 1  # what the log had before
        self._again = False
        self._task: asyncio.Task[None] | None = None
        self._failed = ""
        self.stop = stream.listen(self._hear)

    def _hear(self, event: Event) -> None:
        if not event.persisted:
            return
        self._waiting += 1
        self._unwritten += 1
        if isinstance(event, ContextChanged) and event.sunk and not event.agent:
            self._shelf.sunk_at(event.sunk, event.seq)
        if isinstance(event, TurnFinished) or self._waiting >= MOST_WAITING:
            self._start()

    @property
    def is_level(self) -> bool:
        """Whether the rows stand for all that was heard."""
        return self._unwritten == 0

    def _start(self) -> None:
        self._waiting = 0
        if self._task is not None and not self._task.done():
            self._again = True
            return
        with suppress(RuntimeError):  # without a loop what waits is written at the end
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        self._again = True
        while self._again:
            self._again = False
            await asyncio.to_thread(self.finish)
            self._after()
            for notice in self._database.take_notices():
                with suppress(LimnosError):
                    self._stream.emit(notice)

    def finish(self) -> None:
        """Bring the rows up to the log, in this thread. What fails is tried again the next time."""
        with self._lock:
            self._finish()

    def _finish(self) -> None:
        before = self._unwritten
        try:
            self._shelf.settled(self._flush())
            self._unwritten -= before
        except StorageError as error:
            if error.what != self._failed:
                self._failed = error.what
                self._database.notices.append(Warned(code="memory_failed", text=error.what, fix=error.fix))
        else:
            self._failed = ""
