"""The plugins of this limnos: those of the lock, connected to what they may ask of it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any, Final

from limnos.agent.session_jobs import SessionJobs
from limnos.agent.settings import Environment
from limnos.agent.workbench import probe
from limnos.kernel.events import JobChanged
from limnos.kernel.seams import Blobs, Clock
from limnos.plugins.catalogue import catalogue
from limnos.plugins.connection import PluginLost, PluginRefused
from limnos.plugins.host import Host, Member
from limnos.plugins.locked import Lock, Locked
from limnos.plugins.manifest import Manifest
from limnos.plugins.places import builtin_folders
from limnos.plugins.process import Surroundings
from limnos.plugins.schemas import defaults
from limnos.plugins.services import Asked, Services
from limnos.plugins.unit import Change, Unavailable

SHELL: Final = "shell"  # the plugin that runs commands and jobs
END_S: Final = 5.0
_GONE = ("down", "stopped", "stopping", "idle")


class Plugins:
    """The plugins of one kernel. The lock is read at the first use, and nothing is started before its own."""

    def __init__(self, environment: Environment, clock: Clock, blobs: Blobs) -> None:
        self._environment = environment
        self._clock = clock
        self._blobs = blobs
        self._jobs: dict[str, SessionJobs] = {}

    @cached_property
    def lock(self) -> Lock:
        """All plugins as they were accepted."""
        return catalogue(self._environment.home, builtin_folders())

    @cached_property
    def host(self) -> Host:
        """What starts them."""
        lock = self.lock
        around = Surroundings(
            clock=self._clock,
            data=self._environment.home / "plugin-data",
            hidden=(str(self._environment.home),),
            settings=self._settings,
            sandbox=probe,
            verify=partial(_verified, lock),
        )
        services = Services(self._clock, self._blobs, {"job.changed": self._job_changed})
        host = Host([_member(one) for one in lock.plugins], around, services)
        host.listen(self._changed)
        return host

    def enter(self, session: str, jobs: SessionJobs) -> Callable[[], None]:
        """A session begins: its jobs hear what becomes of them; returns what ends that."""
        self._jobs[session] = jobs
        return lambda: self._left(session)

    async def end_job(self, session: str, folder: str, job: str) -> None:
        """End a background command of a session; what had ended by itself is as well."""
        with suppress(Unavailable, PluginLost, PluginRefused, TimeoutError):
            async with asyncio.timeout(END_S):
                await self.host.unit(SHELL).ask(
                    "tool.call",
                    call=f"{session}-{job}",
                    tool="job_stop",
                    cwd=folder,
                    session=session,
                    arguments={"job": job},
                )

    async def close(self) -> None:
        """End all of them."""
        if "host" in self.__dict__:
            await self.host.close()

    def _left(self, session: str) -> None:
        self._jobs.pop(session, None)
        self.host.session_closed(session)

    def _settings(self, name: str) -> Mapping[str, Any]:
        locked = self.lock.get(name)
        return defaults(locked.manifest.settings) if locked is not None else {}

    async def _job_changed(self, asked: Asked) -> Any:
        jobs = self._jobs.get(asked.params.session)
        if asked.unit.name == SHELL and jobs is not None:
            told = asked.params
            jobs.heard(JobChanged(job=told.job, command=told.command, state=told.state, exit=told.exit))
        return {}

    def _changed(self, change: Change) -> None:
        if change.plugin == SHELL and change.state in _GONE:
            for jobs in self._jobs.values():
                jobs.lost()


def _member(locked: Locked) -> Member:
    waits = tuple(dict.fromkeys(need.plugin for need in locked.needs))
    if locked.disabled:
        return Member(
            locked.manifest,
            waits,
            (
                "disabled",
                "it is off until a person enables it" if locked.manifest.off else "a person disabled it",
            ),
        )
    if locked.down:
        return Member(locked.manifest, waits, ("broken", locked.down))
    return Member(locked.manifest, waits)


async def _verified(lock: Lock, manifest: Manifest) -> str:
    """Why the files of a plugin are not those that a person accepted; empty when they are."""
    locked = lock.get(manifest.name)
    return "" if locked is None else await asyncio.to_thread(lock.verify, locked)
