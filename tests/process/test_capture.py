"""Running a command gives its output within bounds and ends everything it started."""

import asyncio
import os
import resource
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from limnos.process.capture import Bounded, Completed, run
from limnos.process.child import start
from limnos.process.spawn import ChildSpec, StartError
from tests.store.disks import full_disk

from .test_child import alive, gone

PATH = {"PATH": os.defpath}


def sh(script: str, **options: Any) -> Completed:
    options.setdefault("timeout_s", 20)
    return asyncio.run(run(ChildSpec(("sh", "-c", script), cwd="/", env=PATH), **options))


def test_both_streams_arrive_in_one_output_with_the_exit_status() -> None:
    assert sh("echo out; echo err >&2; exit 3") == Completed(
        3, b"out\nerr\n", truncated=False, timed_out=False
    )


def test_each_piece_is_shown_as_it_comes() -> None:
    pieces: list[bytes] = []
    done = sh("echo one; echo two", on_output=pieces.append)
    assert b"".join(pieces) == done.output == b"one\ntwo\n"


def test_input_is_given_and_otherwise_empty() -> None:
    assert sh("cat", stdin=b"hello").output == b"hello"
    assert sh("cat").output == b""


def test_a_program_that_never_reads_its_input_does_not_hold_us_up() -> None:
    assert sh("exec true", stdin=b"x" * 1_000_000).exit == 0


def test_a_command_over_time_is_ended_and_says_so() -> None:
    done = sh("echo started; sleep 600", timeout_s=0.3)
    assert (done.timed_out, done.output) == (True, b"started\n")


def test_output_keeps_head_and_tail_within_the_bound() -> None:
    done = sh("seq 1 100000", max_bytes=1000)
    assert done.truncated
    assert done.output.startswith(b"1\n2\n")
    assert done.output.endswith(b"100000\n")
    assert b"bytes left out" in done.output
    assert len(done.output) < 1100


def test_an_endless_writer_is_bounded_in_time_and_memory() -> None:
    done = sh("yes", timeout_s=0.5, max_bytes=4096)
    assert done.timed_out
    assert done.truncated
    assert len(done.output) < 4200


def test_a_background_process_that_keeps_the_pipe_open_does_not_hang_us() -> None:
    done = sh("sleep 600 & echo $!")
    assert done.exit == 0
    assert asyncio.run(gone(int(done.output)))


def test_even_a_process_with_its_own_session_does_not_hang_us(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ > {note}; exec sleep 600' & while [ ! -s {note} ]; do :; done; echo done"
    done = sh(script)
    os.kill(int(note.read_text()), 9)
    assert done.output == b"done\n"


def test_cancelling_kills_the_whole_group_before_it_goes_on() -> None:
    async def cancel() -> list[int]:
        seen = asyncio.Event()
        pids: list[int] = []

        def note(data: bytes) -> None:
            pids.append(int(data))
            seen.set()

        spec = ChildSpec(("sh", "-c", "trap '' TERM; sleep 600 & echo $!; sleep 600"), cwd="/", env=PATH)
        task = asyncio.create_task(run(spec, timeout_s=60, on_output=note, grace_s=0.1))
        await asyncio.wait_for(seen.wait(), 20)
        assert alive(pids[0])
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await gone(*pids)
        return pids

    assert asyncio.run(cancel())


def test_a_second_cancel_during_the_grace_kills_at_once() -> None:
    async def cancel() -> bool:
        said: asyncio.Queue[bytes] = asyncio.Queue()
        script = "trap 'echo term' TERM; echo up; while :; do :; done"
        spec = ChildSpec(("sh", "-c", script), cwd="/", env=PATH)
        task = asyncio.create_task(run(spec, timeout_s=60, on_output=said.put_nowait, grace_s=600))
        for word in (b"up\n", b"term\n"):
            assert await asyncio.wait_for(said.get(), 20) == word
            task.cancel()
        done, _ = await asyncio.wait({task}, timeout=20)
        return bool(done) and task.cancelled()

    assert asyncio.run(cancel())


def test_a_missing_program_is_named() -> None:
    with pytest.raises(StartError, match="no-such-program cannot run"):
        asyncio.run(run(ChildSpec(("no-such-program",), cwd="/", env=PATH), timeout_s=5))


@pytest.mark.parametrize(
    ("argument", "reason", "fix"),
    [
        ("a\0b", "cannot be passed on", "correct it"),
        ("\ud800", "cannot be passed on", "correct it"),
        ("x" * 200_000, "Argument list too long", "into a file"),
    ],
)
def test_an_argument_that_no_program_can_get_is_an_error(argument: str, reason: str, fix: str) -> None:
    with pytest.raises(StartError, match=f"echo cannot run: .*{reason}") as caught:
        asyncio.run(run(ChildSpec(("echo", argument), cwd="/", env=PATH), timeout_s=5))
    assert fix in caught.value.fix


@pytest.mark.parametrize("begin", [partial(run, timeout_s=5), start])
def test_without_a_descriptor_left_nothing_is_started_and_the_error_says_why(
    begin: Callable[[ChildSpec], Awaitable[object]],
) -> None:
    async def exhausted() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            await begin(ChildSpec(("/bin/true",), cwd="/"))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    with pytest.raises(StartError, match="true cannot run: Too many open files") as caught:
        asyncio.run(exhausted())
    assert "open files" in caught.value.fix


def test_input_that_the_disk_has_no_room_for_is_an_error(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(disk.folder))
        with disk.filled(), pytest.raises(StartError, match=r"sh cannot run: (No space|File too large)"):
            sh("cat", stdin=b"x" * 100_000)


def test_a_file_that_is_no_program_gives_a_status_and_a_reason(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x00\x01\x02")
    odd.chmod(0o755)
    done = asyncio.run(run(ChildSpec((str(odd),), cwd="/"), timeout_s=20))
    assert done.exit == 126
    assert b"cannot run: Exec format error" in done.output


def test_a_hundred_short_commands_leave_no_descriptor() -> None:
    async def many() -> tuple[int, int]:
        spec = ChildSpec((sys.executable, "-I", "-S", "-c", "print(1)"), cwd="/")
        await run(spec, timeout_s=20)
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(10):
            await asyncio.gather(*(run(spec, timeout_s=20) for _ in range(10)))
        return before, len(os.listdir("/proc/self/fd"))

    before, after = asyncio.run(many())
    assert after == before


@pytest.mark.parametrize("pieces", [[b"abcdefgh"], [b"a"] * 8, [b"abcd", b"efgh"], [b"abcdefg", b"h"]])
def test_bounded_keeps_the_ends_however_the_pieces_fall(pieces: list[bytes]) -> None:
    kept = Bounded(4)
    for piece in pieces:
        kept.add(piece)
    head, _, tail = kept.value().split(b"\n")
    assert (len(head), len(tail)) == (2, 2)
    assert b"4 bytes" in kept.value()
