"""Time limits by the injected clock."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from limnos.kernel.seams import Clock

T = TypeVar("T")


async def within(clock: Clock, seconds: float, work: Awaitable[T]) -> T:
    """What `work` comes to, if it does in `seconds`. Raises TimeoutError; `work` is cancelled then."""
    task = asyncio.ensure_future(work)
    limit = asyncio.ensure_future(clock.sleep(seconds))
    try:
        await asyncio.wait({task, limit}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        limit.cancel()
        if not task.done():
            task.cancel()
