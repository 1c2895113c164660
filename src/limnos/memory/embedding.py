"""Vectors of units, made in the background and a few at a time, and that of a question."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from limnos import lazy
from limnos.kernel.errors import LimnosError
from limnos.memory import rows
from limnos.memory.contents import unpacked
from limnos.memory.mending import MemoryDatabase
from limnos.memory.texts import Cleaning, text_of_unit
from limnos.retrieval.embedder import Embedder
from limnos.store.sql import Connection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[lazy.numpy.float32]

BATCH = 8  # units: a question waits for no more than these


class _Waiting(NamedTuple):
    unit: int
    stamp: int
    text: str


class Embedding:
    """Keeps the vectors of all units level with `embedder`. Used from one event loop."""

    def __init__(self, database: MemoryDatabase, cleaning: Cleaning, embedder: Embedder | None) -> None:
        self._database = database
        self._cleaning = cleaning
        self._embedder = embedder
        self._floor = 0  # units up to here have theirs
        self._task: asyncio.Task[None] | None = None
        self._asked: set[asyncio.Task[Floats]] = set()

    @property
    def works(self) -> bool:
        """Whether units are being embedded now."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Embed what has no vector, in the background; ends by itself."""
        if self._embedder is None or self.works:
            return
        with suppress(RuntimeError):  # nobody waits for vectors where no loop runs
            self._task = asyncio.get_running_loop().create_task(self._run(self._embedder))

    async def finish(self) -> None:
        """Wait until what was started is done."""
        if self._task is not None:
            await self._task

    def again(self) -> None:
        """Look at all units anew: some vectors were lost."""
        self._floor = 0

    async def of_query(self, text: str, seconds: float) -> Floats | None:
        """The vector of a question; None when there is no embedder or it takes longer.

        The embedder goes on then, so that it is ready the next time.
        """
        if self._embedder is None:
            return None
        task = asyncio.ensure_future(self._embedder.query(text))
        self._asked.add(task)
        task.add_done_callback(self._answered)
        try:
            vector = await asyncio.wait_for(asyncio.shield(task), seconds)
        except (TimeoutError, LimnosError):
            return None
        fits = vector.shape == (self._embedder.dimensions,) and bool(lazy.numpy.isfinite(vector).all())
        return vector if fits else None

    async def stop(self) -> None:
        """End what runs."""
        for task in (self._task, *self._asked):
            if task is not None and not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError, LimnosError):
                    await task

    def _answered(self, task: asyncio.Task[Floats]) -> None:
        self._asked.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked has heard of it

    async def _run(self, embedder: Embedder) -> None:
        # what fails is tried again when the next turn has ended
        with suppress(LimnosError):
            while batch := await asyncio.to_thread(self._next, embedder.fingerprint):
                texts = [one.text for one in batch if one.text]
                table = await embedder.passages(texts) if texts else None
                await asyncio.to_thread(self._keep, embedder, batch, table)

    def _next(self, fingerprint: str) -> list[_Waiting]:
        """The newest units without a vector, at most a batch of texts."""

        def ask(connection: Connection) -> tuple[int, list[tuple[int, int, str]]]:
            highest = connection.execute("SELECT coalesce(max(id), 0) FROM units").fetchall()[0][0]
            found = connection.execute(
                "SELECT id, stamp, content FROM units WHERE id > ? AND NOT EXISTS (SELECT 1 FROM vectors"
                " WHERE unit = units.id AND fingerprint = ?) ORDER BY id DESC LIMIT ?",
                (self._floor, fingerprint, BATCH),
            )
            return highest, [(unit, stamp, content) for unit, stamp, content in found]

        highest, found = self._database.read(ask)
        if not found:
            self._floor = highest
        return [_Waiting(unit, stamp, self._text(content)) for unit, stamp, content in found]

    def _text(self, content: str) -> str:
        try:
            return text_of_unit(unpacked(content), self._cleaning).dense
        except ValueError:
            return ""

    def _keep(self, embedder: Embedder, batch: Sequence[_Waiting], table: Floats | None) -> None:
        fine = iter(_packed(table, embedder.dimensions) if table is not None else ())
        vectors = [(one.unit, one.stamp, next(fine, b"") if one.text else b"") for one in batch]

        def write(connection: Connection) -> None:
            stamp = rows.tick(connection)
            connection.execute("DELETE FROM vectors WHERE fingerprint <> ?", (embedder.fingerprint,))
            for unit, seen, row in vectors:
                # a unit that was written again meanwhile gets the vector of its new text
                connection.execute(
                    "INSERT OR REPLACE INTO vectors SELECT id, ?, ?, ? FROM units WHERE id = ? AND stamp = ?",
                    (embedder.fingerprint, stamp, row, unit, seen),
                )

        self._database.write(write)


def _packed(table: Floats, dimensions: int) -> list[bytes]:
    """The rows as they are stored; one that is no vector as nothing, so that it is not asked for for ever."""
    np = lazy.numpy
    if table.ndim != 2 or table.shape[1] != dimensions:
        return []
    halves = np.asarray(table, np.float32).astype(np.float16)
    return [halves[at].tobytes() if np.isfinite(halves[at]).all() else b"" for at in range(len(halves))]
