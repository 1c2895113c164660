"""What ends a front end from outside: signals, and mistakes of ours inside callbacks of the event loop."""

import asyncio
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

# A closed terminal ends a turn as an order to end does: else its command would go on without anybody.
ENDINGS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def faults_to(fail: Callable[[BaseException], None]) -> Generator[None]:
    """Inside, an exception that nobody awaits goes to `fail`."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fail(context.get("exception") or OSError(str(context["message"])))

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
