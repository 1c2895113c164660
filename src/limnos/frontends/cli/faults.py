"""Mistakes of ours inside callbacks of the event loop, which asyncio would only log."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any


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
