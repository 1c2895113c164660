"""A call that is stopped: what its plugin still finishes counts, and nobody waits for ever."""

import asyncio
from pathlib import Path

import pytest

from limnos.plugins import adapters
from tests.plugins.running import Host, Member, Output, Plugins, played, tool, written

CODE = """
@plugin.tool
def finish(call, begun, go):
    open(begun, "w").close()
    while not os.path.exists(go):
        time.sleep(0.01)
    return "written"

@plugin.tool
def obey(call, begun, go):
    open(begun, "w").close()
    while True:
        call.check()
        time.sleep(0.01)

@plugin.tool
async def wait(call, begun, go):
    import asyncio
    open(begun, "w").close()
    await asyncio.sleep(1000)
"""


def stopped(tmp_path: Path, name: str, *, let_go: bool) -> "asyncio.Task[Output | object]":
    """The task of a call that was cancelled once it had begun, after it ended."""
    plugins = Plugins(tmp_path)
    names = ("finish", "obey", "wait")
    host: Host = plugins.host(Member(written(tmp_path, "slow", CODE, tools=tuple(map(tool, names)))))
    begun, go = tmp_path / "begun", tmp_path / "go"

    async def story() -> "asyncio.Task[Output | object]":
        call = plugins.call(host, name, begun=str(begun), go=str(go))
        task: asyncio.Task[Output | object] = asyncio.create_task(call)
        while not begun.exists():
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.sleep(0)
        if let_go:
            go.touch()
        await asyncio.wait({task}, timeout=30)
        return task

    return played(host, story)


def test_work_that_ends_all_the_same_is_reported(tmp_path: Path) -> None:
    assert stopped(tmp_path, "finish", let_go=True).result() == Output("written")


@pytest.mark.parametrize("name", ["obey", "wait"])
def test_work_that_stops_is_a_cancelled_call(tmp_path: Path, name: str) -> None:
    assert stopped(tmp_path, name, let_go=False).cancelled()


def test_work_that_does_not_stop_holds_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "LAST_ANSWER_S", 0.05)

    assert stopped(tmp_path, "finish", let_go=False).cancelled()
