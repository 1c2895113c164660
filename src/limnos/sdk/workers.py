"""Threads that run what plugins are asked for; more are started while all are busy, up to a limit."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

Work: TypeAlias = Callable[[], object]
MOST = 32


class Workers:
    """Runs work in the order it came; what finds all threads busy waits for one."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._queue: SimpleQueue[Work] = SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def submit(self, work: Work) -> None:
        """Have `work` run soon. It may not raise."""
        with self._lock:
            grow = not self._idle and self._threads < self._most
            if grow:
                self._threads += 1
            else:
                self._idle -= 1
        self._queue.put(work)
        if grow:
            threading.Thread(target=self._run, name="worker", daemon=True).start()

    def _run(self) -> None:
        while True:
            self._queue.get()()
            with self._lock:
                self._idle += 1
