"""Work that must not be left half known: a write that has begun is waited for, reported and recorded."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import TypeVar

from limnos.agent.edit_history import History
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import FileChanged
from limnos.sdk.files import OnChange

T = TypeVar("T")
LONGEST_S = 10.0
_call: ContextVar[str] = ContextVar("call", default="")


async def uninterrupted(work: Callable[[], T], longest_s: float = LONGEST_S, *, call: str = "") -> T:
    """The result of `work`, run in a thread for `call`, also when the caller is cancelled meanwhile.

    A thread cannot be stopped, so calling its write cancelled would be a lie. After `longest_s` (a disk that
    hangs) the cancellation goes on all the same. Raises what `work` raises.
    """
    _call.set(call)
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        done, _ = await asyncio.wait({running}, timeout=longest_s)
        if not done:
            raise
        return running.result()


def recording(history: History) -> OnChange:
    """Has `history` note every change of a file, with the call that made it."""

    def note(name: str, before: bytes | None, after: bytes | None) -> None:
        # the file is changed by now: a history that cannot be written does not make that untrue
        with suppress(LimnosError):
            history.record(name, before, after, _call.get())

    return note


def in_loop(emit: Callable[[FileChanged], object]) -> Callable[[FileChanged], object]:
    """`emit` for threads: it is called by the loop that runs now, in order."""
    loop = asyncio.get_running_loop()

    def told(change: FileChanged) -> None:
        with suppress(LimnosError):
            emit(change)

    def hand_over(change: FileChanged) -> None:
        loop.call_soon_threadsafe(told, change)

    return hand_over
