"""Work that must not be left half known: a write that has begun is waited for and reported."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LONGEST_S = 10.0


async def uninterrupted(work: Callable[[], T], longest_s: float = LONGEST_S) -> T:
    """The result of `work`, run in a thread, also when the caller is cancelled meanwhile.

    A thread cannot be stopped, so calling its write cancelled would be a lie. After `longest_s` (a disk that
    hangs) the cancellation goes on all the same. Raises what `work` raises.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        done, _ = await asyncio.wait({running}, timeout=longest_s)
        if not done:
            raise
        return running.result()
