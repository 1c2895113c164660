"""Stopping a turn: a person's stop ends what waits, within a limit, and every call still gets its result."""

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any, Literal, TypeVar

from limnos.kernel.errors import LimnosError

T = TypeVar("T")
CUT_SHORT_SECONDS = 0.5
BENEATH = 0.6  # of the seconds of the agent above
StopReason = Literal["stopped", "terminated"]
# In words: a signal is not the person.
STOPS: Mapping[StopReason, str] = {"stopped": "stopped by you", "terminated": "terminated"}


class Cancelled(Exception):  # noqa: N818 - a decision of a person, not an error
    """The work was stopped on request."""


class Suspended(Exception):  # noqa: N818 - the turn goes on later
    """The turn is set aside for an input of a higher level."""


class SelfCancelledError(LimnosError):
    """The work cancelled itself, though nobody asked for it."""


class Cancel:
    """One turn's stop switch. `reason` is None until somebody stops it; grace is in seconds.

    `suspended_by` is the id of the input that the turn is to be set aside for, empty for none. Work that
    ignores the end of its grace time is waited for `cut_short_seconds` more.
    """

    def __init__(self, grace_seconds: float = 5.0, cut_short_seconds: float = CUT_SHORT_SECONDS) -> None:
        self.reason: StopReason | None = None
        self.grace_seconds = grace_seconds
        self.cut_short_seconds = cut_short_seconds
        self.suspended_by = ""
        self._hard = False
        self._waiting: set[asyncio.Future[None]] = set()
        self._giving_way: set[asyncio.Future[None]] = set()

    def beneath(self) -> "Cancel":
        """The switch of a sub-agent, which waits shorter: who waits for it sees it end."""
        return Cancel(self.grace_seconds * BENEATH, self.cut_short_seconds * BENEATH)

    def request(self, reason: StopReason) -> None:
        """Stop what runs. The second request skips the grace time."""
        self._hard = self.reason is not None
        self.reason = self.reason or reason
        for waiting in self._waiting:
            _settle(waiting)

    def suspend(self, by: str) -> None:
        """Set the turn aside at its next border, or in the middle of work that gives way.

        Once it is stopped this does nothing.
        """
        if self.reason is None:
            self.suspended_by = self.suspended_by or by
            for waiting in self._giving_way:
                _settle(waiting)

    def raise_if_requested(self) -> None:
        """Raise `Cancelled` once a stop was requested, `Suspended` once the turn is to be set aside."""
        if self.reason is not None or self.suspended_by:
            raise self._why()

    def _why(self) -> Exception:
        return Cancelled() if self.reason is not None else Suspended()

    async def guard(self, work: Coroutine[Any, Any, T], *, gives_way: bool = False) -> T:
        """Await `work`; on a stop give it the grace time to clean up, then raise `Cancelled`.

        Work that ignores its cancellation is left behind after the grace time: the turn never hangs. What
        ended before the stop was seen still counts. Raises SelfCancelledError for work that ended itself.
        With `gives_way` the same happens when the turn is to be set aside, and raises `Suspended`.
        """
        if self.reason is not None or (gives_way and self.suspended_by):
            work.close()
            raise self._why()
        task = asyncio.ensure_future(work)
        try:
            await self._until_requested(task, gives_way=gives_way)
        except asyncio.CancelledError:
            await self._leave(task)
            raise
        if not task.done():
            await self._leave(task)
            if not task.done() or task.cancelled() or task.exception() is not None:
                raise self._why()
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
            await asyncio.wait({task}, timeout=self.cut_short_seconds)

    async def _until_requested(self, task: "asyncio.Task[Any]", *, gives_way: bool = False) -> None:
        """Wait until `task` has ended or somebody requests a stop, or else that the turn is set aside."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        if gives_way:
            self._giving_way.add(waiting)

        def ended(_: object) -> None:
            _settle(waiting)

        task.add_done_callback(ended)
        try:
            await waiting
        finally:
            self._waiting.discard(waiting)
            self._giving_way.discard(waiting)
            task.remove_done_callback(ended)


def _settle(waiting: "asyncio.Future[None]") -> None:
    if not waiting.done():
        waiting.set_result(None)


def _ignore(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()
