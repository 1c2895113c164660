"""The background commands of one session as its log tells of them; the shell plugin runs them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from limnos.kernel.errors import LimnosError, UsageError
from limnos.kernel.events import Event, JobChanged

JOBS = "jobs"  # the group of their tools, offered once there is one


class Listed(NamedTuple):
    """One job as a list shows it. `state` is running, ended or stopped; `exit` as of a command."""

    job: str
    command: str
    state: str
    exit: int | None


class SessionJobs:
    """Counts and lists jobs; `end` has the plugin end one."""

    def __init__(
        self,
        emit: Callable[[JobChanged], object],
        end: Callable[[str], Awaitable[None]],
        events: Iterable[Event] = (),
    ) -> None:
        self._emit = emit
        self._end = end
        self._jobs: dict[str, JobChanged] = {}
        for event in events:
            if isinstance(event, JobChanged):
                self._jobs[event.job] = event
        self._named = len(self._jobs)
        self.lost()  # they ended with the process that ran them

    def next_name(self) -> str:
        """The name of the next job; names are never used again in a session."""
        self._named += 1
        return f"job{self._named}"

    def heard(self, change: JobChanged) -> None:
        """The plugin tells what became of a job."""
        self._jobs[change.job] = change
        # a job lives on when the log cannot be written; the turn that meets the full disk says so
        with suppress(LimnosError):
            self._emit(change)

    def lost(self) -> None:
        """Whoever ran the jobs is gone, and they with it."""
        for job in self._running():
            self.heard(JobChanged(job=job.job, command=job.command, state="ended"))

    def listed(self) -> list[Listed]:
        """All jobs of this session, in order."""
        return [Listed(job.job, job.command, job.state, job.exit) for job in self._jobs.values()]

    async def stop(self, name: str) -> None:
        """End a job and all it started. Raises UsageError when there is none of that name."""
        job = self._jobs.get(name)
        if job is None:
            known = ", ".join(self._jobs) or "none was started in this session"
            raise UsageError(f"there is no job {name!r}", f"the jobs: {known}")
        if job.state == "running":
            await self._end(name)

    async def close(self) -> None:
        """The session ends, and its jobs with it."""
        names = [job.job for job in self._running()]
        await asyncio.gather(*map(self._end, names), return_exceptions=True)
        self.lost()

    def _running(self) -> list[JobChanged]:
        return [job for job in self._jobs.values() if job.state == "running"]
