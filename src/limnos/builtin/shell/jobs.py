"""Background commands of a session: servers, long builds. They end with the session."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import Literal, NamedTuple, TypeAlias

from limnos.sdk.plugin import ToolFailure
from limnos.sdk.programs import ChildSpec, Drain, Leader, Streams, start_errors, start_leader

MAX_RUNNING = 8
MAX_KEPT = 1_000_000  # bytes of one job's output, the newest
GRACE_S = 2.0

State: TypeAlias = Literal["running", "ended", "stopped"]


class Fresh(NamedTuple):
    """What a job wrote since it was last asked; `skipped` bytes of it are gone. `exit` as of a command."""

    output: bytes
    skipped: int
    state: State
    exit: int | None


class Listed(NamedTuple):
    """One job as a list shows it."""

    job: str
    command: str
    state: State
    exit: int | None


class _Job:
    def __init__(self, name: str, command: str, leader: Leader, held: ExitStack) -> None:
        self.name = name
        self.command = command
        self.leader = leader
        self.held = held
        self.kept = bytearray()
        self.written = 0
        self.read = 0
        self.state: State = "running"
        self.exit: int | None = None
        self.news = asyncio.Event()
        self.watch: asyncio.Task[None] | None = None

    def take(self, data: bytes) -> None:
        """Keep the newest of what it writes."""
        self.kept += data
        self.written += len(data)
        if (excess := len(self.kept) - MAX_KEPT) > 0:
            del self.kept[:excess]
        self.news.set()

    def fresh(self) -> Fresh:
        """What was not read yet; it counts as read now."""
        begins = self.written - len(self.kept)
        skipped = max(0, begins - self.read)
        output = bytes(self.kept[max(0, self.read - begins) :])
        self.read = self.written
        self.news.clear()
        return Fresh(output, skipped, self.state, self.exit)


class Jobs:
    """The jobs of one session; `publish` hears what becomes of each."""

    def __init__(self, publish: Callable[[Listed], object]) -> None:
        self._publish = publish
        self._jobs: dict[str, _Job] = {}

    @property
    def running(self) -> int:
        """How many run."""
        return sum(job.state == "running" for job in self._jobs.values())

    async def start(self, name: str, entering: AbstractContextManager[ChildSpec], command: str) -> None:
        """Start what `entering` gives, which stays entered until the job ends, as the job `name`.

        Raises ToolFailure when eight run already, and StartError.
        """
        if self.running >= MAX_RUNNING:
            raise ToolFailure("failed", f"{MAX_RUNNING} jobs run already", "job_stop one that is not needed")
        held = ExitStack()
        try:
            leader, read = _started(held.enter_context(entering))
        except BaseException:
            held.close()
            raise
        job = _Job(name, command, leader, held)
        self._jobs[name] = job
        self._tell(job)
        job.watch = asyncio.create_task(self._follow(job, Drain(read, job.take)))

    async def output(self, name: str, wait_s: float = 0.0) -> Fresh:
        """What the job wrote since the last time; waits up to `wait_s` for it to end or to write.

        Raises ToolFailure for an unknown name.
        """
        job = self._job(name)
        if job.read == job.written and job.state == "running" and wait_s > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await job.news.wait()
        return job.fresh()

    async def stop(self, name: str) -> Fresh:
        """End the job and all it started: TERM, two seconds, KILL. Raises ToolFailure."""
        job = self._job(name)
        if job.state == "running":
            job.state = "stopped"
            await job.leader.stop(GRACE_S)
            if job.watch is not None:
                await asyncio.wait({job.watch}, timeout=GRACE_S)
        return job.fresh()

    def listed(self) -> list[Listed]:
        """All jobs of this session, in order."""
        return [Listed(job.name, job.command, job.state, job.exit) for job in self._jobs.values()]

    async def close(self) -> None:
        """End every job."""
        running = [job.name for job in self._jobs.values() if job.state == "running"]
        await asyncio.gather(*(self.stop(name) for name in running))

    async def _follow(self, job: _Job, drain: Drain) -> None:
        try:
            job.exit = await job.leader.wait()
        finally:
            drain.finish()
            job.held.close()
            if job.state == "running":
                job.state = "ended"
            job.news.set()
        self._tell(job)

    def _tell(self, job: _Job) -> None:
        self._publish(Listed(job.name, job.command, job.state, job.exit))

    def _job(self, name: str) -> _Job:
        if name not in self._jobs:
            known = ", ".join(self._jobs) or "none was started in this session"
            raise ToolFailure("not_found", f"there is no job {name!r}", f"the jobs: {known}")
        return self._jobs[name]


def _started(spec: ChildSpec) -> tuple[Leader, int]:
    """The running program, and the descriptor that its output comes from."""
    with start_errors(spec):
        read, write = os.pipe()
    try:
        return start_leader(spec, Streams(stdout=write, stderr=write)), read
    except BaseException:
        os.close(read)
        raise
    finally:
        os.close(write)
