"""A write that has begun is finished and reported, whatever is stopped meanwhile."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from limnos.agent.toolbox.writing import uninterrupted
from limnos.kernel.events import CallFinished, CallStarted, Event, TurnFinished
from limnos.sdk.files import Files
from limnos.service.client import Session
from tests.service.house import House, Talk, answering, call, run, step


class Gate:
    """Work in a thread that waits until it is let through."""

    def __init__(self, fault: Exception | None = None) -> None:
        self.begun, self.open = threading.Event(), threading.Event()
        self._fault = fault

    def work(self) -> str:
        self.begun.set()
        assert self.open.wait(20)
        if self._fault is not None:
            raise self._fault
        return "written"

    async def cancelled_within(self, longest_s: float) -> "asyncio.Task[str]":
        task = asyncio.create_task(uninterrupted(self.work, longest_s))
        assert await asyncio.to_thread(self.begun.wait, 20)
        task.cancel()
        return task


def test_a_cancelled_caller_gets_the_result() -> None:
    async def story() -> str:
        gate = Gate()
        task = await gate.cancelled_within(20)
        gate.open.set()
        return await task

    assert run(story()) == "written"


def test_a_cancelled_caller_gets_the_fault() -> None:
    async def story() -> None:
        gate = Gate(OSError("full"))
        task = await gate.cancelled_within(20)
        gate.open.set()
        await task

    with pytest.raises(OSError, match="full"):
        run(story())


def test_a_disk_that_hangs_does_not_hold_the_turn() -> None:
    async def story() -> bool:
        gate = Gate()
        task = await gate.cancelled_within(0.01)
        await asyncio.wait({task}, timeout=20)
        gate.open.set()
        return task.cancelled()

    assert run(story())


@pytest.mark.parametrize(
    "change",
    [
        call("write_file", path="a.txt", content="new"),
        call("edit_file", path="a.txt", old="old", new="new"),
    ],
)
def test_a_turn_that_is_stopped_in_the_middle_of_a_write_ends_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("old")
    gate, whole = Gate(), Files.change

    def slow(files: Files, path: str, new: Callable[[bytes | None], bytes], *, at: str | None = None) -> bool:
        gate.work()
        return whole(files, path, new, at=at)

    monkeypatch.setattr(Files, "change", slow)

    async def story() -> Talk:
        kernel = house.kernel(step("", change), step("never"))
        talk = await house.open(kernel)
        stopping: list[asyncio.Task[None]] = []

        async def stop(session: Session) -> None:
            assert await asyncio.to_thread(gate.begun.wait, 20)
            session.stop()
            gate.open.set()

        def react(session: Session, event: Event) -> None:
            answering("once")(session, event)
            if isinstance(event, CallStarted):
                stopping.append(asyncio.create_task(stop(session)))

        await talk.say("change it", react)
        assert (house.work / "a.txt").read_text() == "new"
        await kernel.close()
        return talk

    talk = run(story())

    assert len(talk.of(CallFinished)) == 1
    assert [event.reason for event in talk.of(TurnFinished)] == ["stopped"]
    assert (house.work / "a.txt").read_text() == "new"
