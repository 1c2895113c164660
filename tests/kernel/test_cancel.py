"""A stop ends what waits within its limits, and what ignores it can do no harm later."""

import asyncio
import gc
from typing import Any

import pytest

from limnos.kernel.cancel import Cancel, Cancelled


@pytest.mark.parametrize("steps", range(6))
@pytest.mark.parametrize("work_steps", range(4))
def test_work_that_ended_before_the_stop_counts_and_else_it_is_cancelled(steps: int, work_steps: int) -> None:
    ended: list[int] = []

    async def work() -> int:
        for _ in range(work_steps):
            await asyncio.sleep(0)
        ended.append(work_steps)
        return work_steps

    async def story() -> tuple[int | None, int]:
        cancel = Cancel(1)
        guarded = asyncio.create_task(cancel.guard(work()))
        for _ in range(steps):
            await asyncio.sleep(0)
        cancel.request("stopped")
        try:
            return await guarded, len(ended)
        except Cancelled:
            return None, len(ended)

    result, times = asyncio.run(story())

    assert (result is not None) == (times == 1)


def test_work_that_was_left_behind_and_fails_later_is_no_fault_of_the_program() -> None:
    async def story() -> list[Any]:
        faults: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        go_on, begun, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            begun.set()
            while not go_on.is_set():
                try:
                    await go_on.wait()
                except asyncio.CancelledError:
                    continue
            over.set()
            raise OSError("too late")

        cancel = Cancel(grace_seconds=0.01)
        guarded = asyncio.create_task(cancel.guard(stubborn()))
        await begun.wait()
        cancel.request("stopped")
        await asyncio.wait({guarded})
        assert isinstance(guarded.exception(), Cancelled)
        del guarded  # its traceback holds what was left behind
        go_on.set()
        await over.wait()
        await asyncio.sleep(0)
        gc.collect()
        return faults

    assert asyncio.run(asyncio.wait_for(story(), 10)) == []
