"""Background commands: started, read while they run, ended, and none outlives its session."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from limnos.agent.session_jobs import SessionJobs
from limnos.builtin.shell.jobs import MAX_KEPT, MAX_RUNNING, Jobs, Listed
from limnos.kernel.errors import UsageError
from limnos.kernel.events import JobChanged
from limnos.kernel.tools import ToolFailure
from limnos.process.spawn import ChildSpec, StartError
from tests.agent.tools import ENVIRONMENT, Toolbox
from tests.processes import ends, sleep_of_its_own


def play(story: Callable[[Jobs, list[Listed]], Awaitable[None]]) -> None:
    async def whole() -> None:
        told: list[Listed] = []
        jobs = Jobs(told.append)
        try:
            await asyncio.wait_for(story(jobs, told), 30)
        finally:
            await jobs.close()

    asyncio.run(whole())


async def begin(jobs: Jobs, command: str) -> str:
    spec = ChildSpec(("bash", "-c", command), "/", ENVIRONMENT)
    name = f"job{len(jobs.listed()) + 1}"
    await jobs.start(name, nullcontext(spec), command)
    return name


def test_output_is_read_piece_by_piece_and_the_end_is_told() -> None:
    async def story(jobs: Jobs, told: list[Listed]) -> None:
        name = await begin(jobs, "echo one; exit 3")
        output = b""
        while (fresh := await jobs.output(name, 20)).state == "running":
            output += fresh.output
        output += fresh.output
        assert (output, fresh.exit, fresh.skipped) == (b"one\n", 3, 0)
        assert (await jobs.output(name)).output == b""
        assert [(event.state, event.exit) for event in told] == [
            ("running", None),
            ("ended", 3),
        ]

    play(story)


def test_a_stopped_job_ends_with_all_it_started() -> None:
    sleep = sleep_of_its_own()

    async def story(jobs: Jobs, told: list[Listed]) -> None:
        name = await begin(jobs, f"{sleep} & echo begun; wait")
        assert (await jobs.output(name, 20)).output == b"begun\n"
        stopped = await jobs.stop(name)
        assert stopped.state == "stopped"
        assert [job.state for job in jobs.listed()] == ["stopped"]
        assert (await jobs.stop(name)).state == "stopped"

    play(story)
    assert ends(sleep)


def test_no_job_outlives_its_session() -> None:
    sleep = sleep_of_its_own()

    async def story(jobs: Jobs, told: list[Listed]) -> None:
        await begin(jobs, sleep)
        await begin(jobs, f"trap '' TERM; {sleep}")

    play(story)
    assert ends(sleep)


def test_much_output_keeps_the_newest_and_says_what_is_gone() -> None:
    async def story(jobs: Jobs, told: list[Listed]) -> None:
        name = await begin(jobs, "head -c 3000000 /dev/zero; echo end")
        while jobs.listed()[0].state == "running":
            await asyncio.sleep(0)
        fresh = await jobs.output(name)
        assert len(fresh.output) == MAX_KEPT
        assert fresh.output.endswith(b"end\n")
        assert fresh.skipped == 3_000_004 - MAX_KEPT

    play(story)


def test_too_many_jobs_are_refused_until_one_ends() -> None:
    async def story(jobs: Jobs, told: list[Listed]) -> None:
        names = [await begin(jobs, "sleep 1000") for _ in range(MAX_RUNNING)]
        with pytest.raises(ToolFailure, match="run already"):
            await begin(jobs, "true")
        await jobs.stop(names[0])
        await begin(jobs, "true")

    play(story)


def test_a_program_that_is_not_there_starts_no_job() -> None:
    async def story(jobs: Jobs, told: list[Listed]) -> None:
        with pytest.raises(StartError):
            await jobs.start("job1", nullcontext(ChildSpec(("no-such-program",), "/", ENVIRONMENT)), "x")
        assert jobs.listed() == []
        with pytest.raises(ToolFailure, match="job1"):
            await jobs.output("job1")

    play(story)


def test_jobs_of_an_earlier_process_are_known_to_be_over() -> None:
    events = [
        JobChanged(job="job1", command="a", state="running"),
        JobChanged(job="job2", command="b", state="running"),
        JobChanged(job="job1", command="a", state="ended", exit=0),
    ]

    told: list[JobChanged] = []

    async def nobody(name: str) -> None:
        raise AssertionError(f"{name} does not run any more")

    jobs = SessionJobs(told.append, nobody, events)

    assert [(event.job, event.state) for event in told] == [("job2", "ended")]
    assert [job.state for job in jobs.listed()] == ["ended", "ended"]
    assert jobs.next_name() == "job3"


def test_a_person_ends_a_job_by_its_name() -> None:
    ended: list[str] = []

    async def end(name: str) -> None:
        ended.append(name)

    async def story() -> None:
        jobs = SessionJobs(lambda _: None, end)
        for name, state in (("job1", "running"), ("job2", "ended")):
            jobs.heard(JobChanged(job=name, command="x", state=state))
        await jobs.stop("job1")
        await jobs.stop("job2")
        with pytest.raises(UsageError, match="job3"):
            await jobs.stop("job3")

    asyncio.run(story())
    assert ended == ["job1"]


def test_the_tools_start_read_and_end_a_job_in_the_sandbox(tmp_path: Path) -> None:
    box = Toolbox(tmp_path / "work")
    sleep = sleep_of_its_own()

    async def story() -> None:
        started = await box.start("run_command", command=f"echo up; {sleep}", background=True)
        assert "job1" in getattr(started, "text", "")
        looked = await box.start("job_output", job="job1", wait_s=20)
        assert "still runs" in getattr(looked, "text", "")
        assert "up" in getattr(looked, "text", "")
        listed = await box.start("job_output")
        assert "job1: still runs" in getattr(listed, "text", "")
        ended = await box.start("job_stop", job="job1")
        assert "stopped" in getattr(ended, "text", "")
        unknown = await box.start("job_stop", job="job9")
        assert getattr(unknown, "reason", "") == "not_found"

    asyncio.run(asyncio.wait_for(story(), 60))
    assert ends(sleep)
