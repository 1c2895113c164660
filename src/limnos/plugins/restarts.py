"""When a plugin that crashed is started again, and when not any more until a person acts."""

from collections import deque
from typing import Final

from limnos.kernel.seams import Clock

WINDOW_S: Final = 300.0
DELAYS_S: Final = (1.0, 2.0, 3.0)
MOST_A_MINUTE: Final = 30


class Restarts:
    """The crashes of one plugin in the last five minutes. A restart of our own does not shorten the list."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._crashes: deque[float] = deque()

    def crashed(self) -> float | None:
        """Note a crash; the seconds until the restart, or None for the fourth within five minutes."""
        now = self._clock.monotonic()
        while self._crashes and now - self._crashes[0] >= WINDOW_S:
            self._crashes.popleft()
        self._crashes.append(now)
        count = len(self._crashes)
        return DELAYS_S[count - 1] if count <= len(DELAYS_S) else None

    def forgive(self) -> None:
        """A person acted: what was before does not count."""
        self._crashes.clear()


class Pace:
    """Bounds the restarts of all plugins together, so that a storm of crashes does not take the machine."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._restarts: deque[float] = deque()

    async def admit(self) -> None:
        """Wait until one more restart keeps within 30 a minute, and count it."""
        while True:
            now = self._clock.monotonic()
            while self._restarts and now - self._restarts[0] >= 60.0:
                self._restarts.popleft()
            if len(self._restarts) < MOST_A_MINUTE:
                self._restarts.append(now)
                return
            await self._clock.sleep(max(0.1, 60.0 - (now - self._restarts[0])))
