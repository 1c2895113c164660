"""One gate per key: routes and personas that share a key wait together when a server asks for it."""

import asyncio

from limnos.kernel.seams import Clock
from limnos.providers.secret import Secret


class Bucket:
    """Lets requests through, one after the other, but not while a pause that a server asked for lasts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._closed_until = clock.monotonic()
        self._turn = asyncio.Lock()

    @property
    def closed_s(self) -> float:
        """Seconds until requests go out again; 0 when they do."""
        return max(self._closed_until - self._clock.monotonic(), 0.0)

    async def take(self) -> None:
        """Wait until a request may go out."""
        async with self._turn:
            while (wait := self.closed_s) > 0:
                await self._clock.sleep(wait)

    def pause(self, seconds: float) -> None:
        """Let nothing out for `seconds`: the server asked one of the sharers to wait."""
        self._closed_until = max(self._closed_until, self._clock.monotonic() + seconds)


class Buckets:
    """The buckets of a process. Routes without a key have one for each address."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._buckets: dict[tuple[Secret, str], Bucket] = {}

    def of(self, key: Secret, base_url: str) -> Bucket:
        """The bucket that all users of `key` share."""
        owner = (key, "" if key else base_url)
        if owner not in self._buckets:
            self._buckets[owner] = Bucket(self._clock)
        return self._buckets[owner]
