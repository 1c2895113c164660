"""Stopping a turn: a person's stop ends what waits, within a limit, and every call still gets its result."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

from limnos.kernel.errors import LimnosError

T = TypeVar("T")
CUT_SHORT_SECONDS = 0.5
StopReason = Literal["stopped", "terminated"]
# In words: a signal is not the person.
STOPS: Mapping[StopReason, str] = {"stopped": "stopped by you", "terminated": "terminated"}


class Cancelled(Exception):  # noqa: N818 - a decision of a person, not an error
    """The work was stopped on request."""


class SelfCancelledError(LimnosError):
    """The work cancelled itself, though nobody asked for it."""


class Cancel:
    """One turn's stop switch. `reason` is None until somebody stops it; grace is in seconds."""

    def __init__(self, grace_seconds: float = 5.0) -> None:
        self.reason: StopReason | None = None
        self.grace_seconds = grace_seconds
        self._hard = False
        self._waiting: set[asyncio.Future[None]] = set()

    def request(self, reason: StopReason) -> None:
        """Stop what runs. The second request skips the grace time."""
        self._hard = self.reason is not None
        self.reason = self.reason or reason
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)

    def raise_if_requested(self) -> None:
        """Raise `Cancelled` once a stop was requested."""
        if self.reason is not None:
            raise Cancelled

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """Await `work`; on a stop give it the grace time to clean up, then raise `Cancelled`.

        Work that ignores its cancellation is left behind after the grace time: the turn never hangs. What
        ended before the stop was seen still counts. Raises SelfCancelledError for work that ended itself.
        """
        if self.reason is not None:
            work.close()
            raise Cancelled
        task = asyncio.ensure_future(work)
        try:
            await self._until_requested(task)
        except asyncio.CancelledError:
            await self._leave(task)
            raise
        if not task.done():
            await self._leave(task)
            if not task.done() or task.cancelled() or task.exception() is not None:
                raise Cancelled
        if task.cancelled():
            raise SelfCancelledError("the work was cancelled from inside", "try it again")
        return task.result()

    async def _leave(self, task: "asyncio.Task[Any]") -> None:
        """Cancel `task` and wait for its end, at most the grace time; asked again, cut its clean-up short.

        What it still raises is nobody's: a late failure must not look like one that was overlooked.
        """
        task.add_done_callback(_ignore)
        task.cancel()
        if not self._hard:
            with suppress(TimeoutError):
                async with asyncio.timeout(self.grace_seconds):
                    await self._until_requested(task)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CUT_SHORT_SECONDS)

    async def _until_requested(self, task: "asyncio.Task[Any]") -> None:
        """Wait until `task` has ended or somebody requests a stop."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)

        def ended(_: object) -> None:
            if not waiting.done():
                waiting.set_result(None)

        task.add_done_callback(ended)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)
            task.remove_done_callback(ended)


def _ignore(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()
