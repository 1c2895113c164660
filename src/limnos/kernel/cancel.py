"""Stopping a turn: a person's stop ends what waits, within a limit, and every call still gets its result."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal, TypeVar

T = TypeVar("T")
StopReason = Literal["stopped", "terminated"]


class Cancelled(Exception):  # noqa: N818 - a decision of a person, not an error
    """The work was stopped on request."""


class Cancel:
    """One turn's stop switch. `reason` is None until somebody stops it."""

    def __init__(self, grace_seconds: float = 5.0) -> None:
        self.reason: StopReason | None = None
        self.grace_seconds = grace_seconds
        self._running: set[asyncio.Task[Any]] = set()
        self._hard = asyncio.Event()

    def request(self, reason: StopReason) -> None:
        """Stop what runs. The second request skips the grace time."""
        if self.reason is not None:
            self._hard.set()
            return
        self.reason = reason
        for task in tuple(self._running):
            task.cancel()

    def raise_if_requested(self) -> None:
        """Raise `Cancelled` once a stop was requested."""
        if self.reason is not None:
            raise Cancelled

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`; on a stop give it the grace time to clean up, then raise `Cancelled`.

        Work that ignores its cancellation is left behind after the grace time: the turn never hangs.
        """
        if self.reason is not None:
            work.close()
            raise Cancelled
        task = asyncio.ensure_future(work)
        self._running.add(task)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if self.reason is None:
                await self._abandon(task)
                raise
            await self._give_grace(task)
            raise Cancelled from None
        finally:
            self._running.discard(task)

    async def _give_grace(self, task: "asyncio.Task[Any]") -> None:
        hard = asyncio.ensure_future(self._hard.wait())
        await asyncio.wait({task, hard}, timeout=self.grace_seconds, return_when=asyncio.FIRST_COMPLETED)
        hard.cancel()
        if task.done() and not task.cancelled():
            task.exception()

    async def _abandon(self, task: "asyncio.Task[Any]") -> None:
        task.cancel()
        await asyncio.wait({task}, timeout=self.grace_seconds)
        if task.done() and not task.cancelled():
            task.exception()
