"""One token bucket per key: routes and personas that share a key share its limit."""

import asyncio

from limnos.kernel.seams import Clock
from limnos.providers.routes import Secret


class Bucket:
    """Lets `per_minute` requests through, up to `burst` at once; first come, first served.

    `per_minute` 0 means no limit; a pause that a server asked for holds all the same.
    """

    def __init__(self, clock: Clock, per_minute: float = 0.0, burst: int = 4) -> None:
        self._clock = clock
        self._rate = per_minute / 60
        self._burst = float(max(burst, 1))
        self._tokens = self._burst
        self._filled = clock.monotonic()
        self._closed_until = self._filled
        self._turn = asyncio.Lock()

    async def take(self) -> None:
        """Wait until a request may go out."""
        async with self._turn:
            while (wait := self._missing_s()) > 0:
                await self._clock.sleep(wait)
            if self._rate:
                self._tokens -= 1

    def pause(self, seconds: float) -> None:
        """Let nothing out for `seconds`: the server asked one of the sharers to wait."""
        self._closed_until = max(self._closed_until, self._clock.monotonic() + seconds)

    def _missing_s(self) -> float:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled) * self._rate)
        self._filled = now
        for_token = (1 - self._tokens) / self._rate if self._rate and self._tokens < 1 else 0.0
        return max(self._closed_until - now, for_token)


class Buckets:
    """The buckets of a process. Routes without a key have one for each address."""

    def __init__(self, clock: Clock, per_minute: float = 0.0, burst: int = 4) -> None:
        self._clock = clock
        self._per_minute = per_minute
        self._burst = burst
        self._buckets: dict[tuple[Secret, str], Bucket] = {}

    def of(self, key: Secret, base_url: str) -> Bucket:
        """The bucket that all users of `key` share."""
        owner = (key, "" if key else base_url)
        if owner not in self._buckets:
            self._buckets[owner] = Bucket(self._clock, self._per_minute, self._burst)
        return self._buckets[owner]
