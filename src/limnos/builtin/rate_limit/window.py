"""How many came from each sender in the last minute."""

from collections import OrderedDict, deque
from threading import Lock

SECONDS = 60.0
MOST_SENDERS = 10_000


class Window:
    """Times of what was admitted, by sender; of too many senders the longest silent are forgotten."""

    def __init__(self) -> None:
        self._times: OrderedDict[tuple[str, str], deque[float]] = OrderedDict()
        self._lock = Lock()

    def admit(self, sender: tuple[str, str], most: int, now: float) -> float | None:
        """None when there is room for one more, which counts then; else the seconds until there is."""
        with self._lock:
            times = self._times.setdefault(sender, deque())
            self._times.move_to_end(sender)
            while times and now - times[0] >= SECONDS:
                times.popleft()
            if len(times) >= max(most, 1):
                return SECONDS - (now - times[0])
            times.append(now)
            if len(self._times) > MOST_SENDERS:
                self._times.popitem(last=False)
            return None
