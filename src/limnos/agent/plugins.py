"""The plugins of this limnos: those of the lock, connected to what they may ask of it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from limnos.agent import deferred
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.settings import Environment
from limnos.agent.workbench import probe
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import JobChanged
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.stages import Pipeline
from limnos.kernel.tools import Output, Tool, ToolContext
from limnos.plugins.catalogue import catalogue
from limnos.plugins.locked import Lock
from limnos.plugins.manifest import ChannelDeclaration, Manifest, ToolDeclaration
from limnos.plugins.offered import SessionSide, sending_tool_of, tool_of
from limnos.plugins.places import builtin_folders

if TYPE_CHECKING:
    from limnos.plugins.host import Host
    from limnos.plugins.services import Asked
    from limnos.plugins.unit import Change

SHELL: Final = "shell"  # the plugin that runs commands and jobs
END_S: Final = 5.0
_GONE = ("down", "stopped", "stopping", "idle")


class Plugins:
    """The plugins of one kernel. The lock is read at the first use; a host is made when one is to run."""

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
    def host(self) -> "Host":
        """What starts them."""
        services = deferred.host.Services(self._clock, self._blobs, {"job.changed": self._job_changed})
        around = deferred.host.Surroundings(
            clock=self._clock,
            data=self._environment.home / "plugin-data",
            hidden=(str(self._environment.home),),
            settings=self._settings,
            sandbox=probe,
            verify=self._verified,
        )
        host = deferred.host.Host(deferred.host.members_of(self.lock), around, services)
        host.listen(self._changed)
        return host

    def tools(self, side: SessionSide) -> list[Tool]:
        """The tools of all plugins for one session; those of a plugin that cannot run say why when called."""
        found: list[Tool] = []
        for locked in self.lock.plugins:
            if locked.disabled:
                continue
            name, look = locked.name, partial(self._preflight, locked.name)
            for tool in locked.manifest.tools:
                found.append(tool_of(name, tool, partial(self._run, name, tool, side), look))
            for channel in locked.manifest.channels:
                found.append(sending_tool_of(name, channel, partial(self._send, name, channel), look))
        return found

    def attach(self, pipeline: Pipeline) -> Callable[[], None]:
        """Put the stage handlers into a session's pipeline and keep them right; returns what ends that."""
        return self.host.attach(pipeline) if self.lock.stages else _nothing

    def enter(self, session: str, jobs: SessionJobs) -> Callable[[], None]:
        """A session begins: its jobs hear what becomes of them; returns what ends that."""
        self._jobs[session] = jobs
        return partial(self._left, session)

    async def end_job(self, session: str, folder: str, job: str) -> None:
        """End a background command of a session; what had ended by itself is as well."""
        with suppress(LimnosError, TimeoutError):
            async with asyncio.timeout(END_S):
                await self.host.perform(SHELL, "job_stop", SessionSide(session), {"job": job}, folder)

    async def close(self) -> None:
        """End all of them."""
        if self._is_hosting:
            await self.host.close()

    @property
    def _is_hosting(self) -> bool:
        return "host" in self.__dict__

    async def _run(
        self,
        plugin: str,
        tool: ToolDeclaration,
        side: SessionSide,
        arguments: Arguments,
        context: ToolContext,
    ) -> Output:
        return await self.host.runs(plugin, tool, side)(arguments, context)

    async def _send(
        self, plugin: str, channel: ChannelDeclaration, arguments: Arguments, context: ToolContext
    ) -> Output:
        return await self.host.sends(plugin, channel)(arguments, context)

    def _preflight(self, plugin: str, arguments: Arguments) -> ToolError | None:
        locked = self.lock.get(plugin)
        if self._is_hosting or (locked is not None and locked.down):
            return self.host.preflight(plugin, arguments)
        return None

    def _left(self, session: str) -> None:
        self._jobs.pop(session, None)
        if self._is_hosting:
            self.host.session_closed(session)

    def _settings(self, name: str) -> Mapping[str, Any]:
        locked = self.lock.get(name)
        return deferred.schemas.defaults(locked.manifest.settings) if locked is not None else {}

    async def _verified(self, manifest: Manifest) -> str:
        """Why the files of a plugin are not those that a person accepted; empty when they are."""
        locked = self.lock.get(manifest.name)
        return "" if locked is None else await asyncio.to_thread(self.lock.verify, locked)

    async def _job_changed(self, asked: "Asked") -> Any:
        jobs = self._jobs.get(asked.params.session)
        if asked.unit.name == SHELL and jobs is not None:
            told = asked.params
            jobs.heard(JobChanged(job=told.job, command=told.command, state=told.state, exit=told.exit))
        return {}

    def _changed(self, change: "Change") -> None:
        if change.plugin == SHELL and change.state in _GONE:
            for jobs in self._jobs.values():
                jobs.lost()


def _nothing() -> None:
    """There is nothing to end."""
