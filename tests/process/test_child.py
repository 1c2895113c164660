"""Children end when told, take their group with them and leave nothing behind."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import TypeVar

import pytest

from limnos.process.child import start
from limnos.process.spawn import ChildSpec, Limits, StartError

T = TypeVar("T")
PATH = {"PATH": os.defpath}


def run(work: Coroutine[None, None, T]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work, 30)

    return asyncio.run(bounded())


def sh(script: str, **changes: object) -> ChildSpec:
    return ChildSpec(("sh", "-c", script), cwd="/", env=PATH, **changes)  # type: ignore[arg-type]


def python(script: str, **changes: object) -> ChildSpec:
    return ChildSpec((sys.executable, "-I", "-c", script), cwd="/", env=PATH, **changes)  # type: ignore[arg-type]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


async def gone(*pids: int) -> bool:
    """True when all of them have ended; waits for those that have not."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(descriptor, ended.set)
        try:
            await asyncio.wait_for(ended.wait(), 20)
        finally:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
    return not any(map(alive, pids))


def test_a_child_talks_over_its_standard_streams() -> None:
    async def talk() -> tuple[bytes, int]:
        child = await start(sh("read line; echo got $line"))
        child.writer.write(b"hello\n")
        await child.writer.drain()
        line = await child.reader.readline()
        status = await child.wait(10)
        await child.stop()
        return line, status

    assert run(talk()) == (b"got hello\n", 0)


def test_the_environment_is_exactly_what_was_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNOS_CANARY", "secret")

    async def read() -> bytes:
        child = await start(ChildSpec(("/usr/bin/env",), cwd="/", env={"ONLY": "this"}))
        text = await child.reader.read()
        await child.stop()
        return text

    assert run(read()) == b"ONLY=this\n"


def test_core_dumps_are_off_and_limits_hold() -> None:
    script = "import resource as r; print(r.getrlimit(r.RLIMIT_CORE)[1], r.getrlimit(r.RLIMIT_NOFILE)[1])"

    async def read() -> bytes:
        child = await start(python(script, limits=Limits(files=64)))
        text = await child.reader.read()
        await child.stop()
        return text

    assert run(read()) == b"0 64\n"


def test_too_much_memory_is_refused_inside_the_child() -> None:
    async def grow() -> tuple[int, str]:
        child = await start(python("x = bytearray(1 << 30)", limits=Limits(memory=256 << 20)))
        status = await child.wait(20)
        await child.stop()
        return status, child.stderr

    status, stderr = run(grow())
    assert status == 1
    assert "MemoryError" in stderr


def test_stop_ends_grandchildren_too() -> None:
    async def stop() -> tuple[int, bool]:
        child = await start(sh("sleep 600 & echo $!; sleep 600"))
        grandchild = int(await child.reader.readline())
        assert alive(grandchild)
        status = await child.stop(grace_s=5)
        return status, await gone(child.pid, grandchild)

    assert run(stop()) == (-signal.SIGTERM, True)


def test_a_child_that_ignores_term_is_killed_after_the_grace() -> None:
    async def stop() -> tuple[int, bool]:
        child = await start(sh("trap '' TERM; echo ready; while :; do sleep 1; done"))
        await child.reader.readline()
        status = await child.stop(grace_s=0.1)
        return status, await gone(child.pid)

    assert run(stop()) == (-signal.SIGKILL, True)


def test_what_a_child_leaves_running_ends_with_it() -> None:
    async def leave() -> tuple[int, bool]:
        child = await start(sh("sleep 600 & echo $!"))
        left = int(await child.reader.readline())
        status = await child.wait(10)
        over = await gone(left)
        await child.stop()
        return status, over

    assert run(leave()) == (0, True)


def test_a_child_dies_when_its_parent_is_killed(tmp_path: Path) -> None:
    program = (
        "import asyncio, os\n"
        "from limnos.process.child import start\n"
        "from limnos.process.spawn import ChildSpec\n"
        "async def main():\n"
        "    child = await start(ChildSpec(('/bin/sh', '-c', 'echo up; exec sleep 600'), cwd='/'))\n"
        "    await child.reader.readline()\n"
        "    print(child.pid, flush=True)\n"
        "    await asyncio.sleep(600)\n"
        "asyncio.run(main())\n"
    )

    async def kill_parent() -> bool:
        parent = await start(ChildSpec((sys.executable, "-c", program), cwd=str(tmp_path)))
        grandchild = int(await parent.reader.readline())
        os.kill(parent.pid, signal.SIGKILL)
        over = await gone(grandchild)
        await parent.stop()
        return over

    assert run(kill_parent())


def test_stopping_twice_or_after_the_end_gives_the_same_status() -> None:
    async def twice() -> list[int]:
        child = await start(sh("exit 7"))
        await child.wait(10)
        return [await child.stop(), await child.stop(0)]

    assert run(twice()) == [7, 7]


def test_nothing_stays_open_after_many_children() -> None:
    async def many() -> tuple[int, int]:
        async def one(script: str) -> None:
            child = await start(sh(script))
            await child.stop(grace_s=0)

        await one("exit 0")
        before = len(os.listdir("/proc/self/fd"))
        await asyncio.gather(*(one("sleep 600 & sleep 600" if n % 2 else "exit 3") for n in range(20)))
        return before, len(os.listdir("/proc/self/fd"))

    before, after = run(many())
    assert after == before


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            ChildSpec(("no-such-program",), cwd="/", env=PATH),
            "no-such-program cannot run: it is not installed",
        ),
        (ChildSpec(("/etc/passwd",), cwd="/"), "/etc/passwd cannot run: there is no program of that name"),
        (
            ChildSpec(("true",), cwd="/no/such/folder", env=PATH),
            "its working folder /no/such/folder is not there",
        ),
    ],
)
def test_a_program_that_cannot_start_is_named(spec: ChildSpec, says: str) -> None:
    with pytest.raises(StartError) as caught:
        run(start(spec))
    assert says in caught.value.what
    assert caught.value.fix


def test_stderr_is_kept_within_bounds() -> None:
    async def noisy() -> str:
        child = await start(python("import sys; sys.stderr.write('x' * 100_000 + 'the end')"))
        await child.wait(10)
        await child.stop()
        return child.stderr

    text = run(noisy())
    assert len(text) == 8192
    assert text.endswith("the end")


def test_a_start_that_is_cancelled_at_any_moment_leaves_nothing_running() -> None:
    def children() -> set[str]:
        return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())

    async def cancelled(steps: int) -> bool:
        task = asyncio.create_task(start(sh("sleep 600")))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        try:
            child = await task
        except asyncio.CancelledError:
            return True
        await child.stop(0)
        return False

    async def all_moments() -> list[bool]:
        return [await cancelled(steps) for steps in range(6)]

    before = children(), len(os.listdir("/proc/self/fd"))
    seen = run(all_moments())

    assert True in seen[1:]
    assert False in seen
    assert (children(), len(os.listdir("/proc/self/fd"))) == before


def test_where_processes_cannot_be_watched_by_descriptor_they_are_watched_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(pid: int) -> int:
        raise PermissionError(errno.EPERM, f"no descriptor for {pid}")

    monkeypatch.setattr(os, "pidfd_open", forbidden)

    async def stop() -> tuple[int, int]:
        ends, stays = await start(sh("exit 3")), await start(sh("sleep 600"))
        status = await ends.wait(10)
        await ends.stop()
        return status, await stays.stop(5)

    assert run(stop()) == (3, -signal.SIGTERM)
