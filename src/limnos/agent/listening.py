"""Who listens to a session: first what is on the disk, then what happens, each event once and in order."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from limnos.kernel.events import Event, TurnResumed, TurnStarted


class BehindError(Exception):
    """A reader with a bound was too slow: what it has not read was thrown away."""


class _Ended:
    """The last thing a reader hears; with the fault that ended the session, if one did."""

    def __init__(self, fault: BaseException | None = None) -> None:
        self.fault = fault


class Readers:
    """The readers of one session's events.

    `history` gives the persisted ones above a number, `newest` is the number of the newest of these.
    `unsaved` is the end of a turn that the disk did not take: who has all the rest and comes
    a moment later is told it too.
    """

    def __init__(self, history: Callable[[int], Sequence[Event]], newest: Callable[[], int]) -> None:
        self._history = history
        self._newest = newest
        self._over = False
        self.unsaved: Event | None = None
        self._inboxes: dict[asyncio.Queue[Event | _Ended], int] = {}

    def tell(self, event: Event) -> None:
        """Give an event to every reader; one that is too far behind hears no more."""
        if isinstance(event, TurnStarted | TurnResumed):
            self.unsaved = None
        for inbox, bound in tuple(self._inboxes.items()):
            if bound and inbox.qsize() >= bound:
                del self._inboxes[inbox]
                while not inbox.empty():
                    inbox.get_nowait()
                inbox.put_nowait(_Ended(BehindError()))
            else:
                inbox.put_nowait(event)

    def end(self, fault: BaseException | None) -> None:
        """Tell every reader that nothing more comes; without a fault for good."""
        self._over = self._over or fault is None
        for inbox in tuple(self._inboxes):
            inbox.put_nowait(_Ended(fault))

    async def events(self, after: int, bound: int) -> AsyncIterator[Event]:
        """The persisted events above `after`, then live ones.

        Raises BehindError when more than `bound` wait for this reader; a bound of 0 is none.
        """
        inbox: asyncio.Queue[Event | _Ended] = asyncio.Queue()
        if self._over:
            inbox.put_nowait(_Ended())
        self._inboxes[inbox] = bound
        last = after
        try:
            behind = after < self._newest()
            for event in self._history(after) if behind else ():
                last = event.seq
                yield event
            if self.unsaved is not None and self.unsaved.seq > last and not behind:
                last = self.unsaved.seq
                yield self.unsaved
            while True:
                item = await inbox.get()
                if isinstance(item, _Ended):
                    if item.fault is not None:
                        raise item.fault
                    return
                if item.seq > last:
                    last = item.seq
                    yield item
        finally:
            self._inboxes.pop(inbox, None)
