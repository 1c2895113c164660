"""Runs `async` functions of a plugin in one event loop, which has a thread of its own once there is one."""

import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from limnos import lazy
from limnos.sdk.call import Call, Cancelled

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_COROUTINE = 0x80  # inspect.CO_COROUTINE; the module takes longer to import than all of this


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a coroutine."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE)


class AsyncCalls:
    """Waits in threads for what runs in the loop."""

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, work: Coroutine[Any, Any, Any], call: Call | None = None) -> Any:
        """What `work` returns or raises; a stop of `call` cancels it and raises `Cancelled`."""
        running = lazy.asyncio.run_coroutine_threadsafe(work, self._started())
        if call is not None:
            call.on_stop = running.cancel
            if call.stopped.is_set():
                running.cancel()
        try:
            return running.result()
        except lazy.futures.CancelledError:
            raise Cancelled from None

    def _started(self) -> "AbstractEventLoop":
        with self._lock:
            if self._loop is None:
                self._loop = lazy.asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="loop", daemon=True).start()
            return self._loop
