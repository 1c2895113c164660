"""The plugins of this limnos: those of the lock, connected to what they may ask of it."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from limnos.agent import deferred
from limnos.agent.plugin_services import SHELL, House, PluginServices, Room
from limnos.agent.settings import Environment
from limnos.agent.workbench import probe
from limnos.kernel.errors import LimnosError
from limnos.kernel.event_records import to_record
from limnos.kernel.events import EVENT_TYPES, Event, PluginChanged
from limnos.kernel.masking import Mask
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.stages import Pipeline
from limnos.kernel.tools import Output, Tool, ToolContext
from limnos.plugins.catalogue import catalogue
from limnos.plugins.locked import Lock, Locked
from limnos.plugins.manifest import ChannelDeclaration, Manifest, ToolDeclaration
from limnos.plugins.offered import SessionSide, sending_tool_of, tool_of
from limnos.plugins.places import builtin_folders, log_of

if TYPE_CHECKING:
    from limnos.plugins.host import Host
    from limnos.plugins.log_ring import Line
    from limnos.plugins.unit import Change

BY_PERSON: Final = "stopped by a person"
END_S: Final = 5.0
_GONE = ("down", "stopped", "stopping", "idle")


class Plugins:
    """The plugins of one kernel. The lock is read at the first use; a host is made when one is to run."""

    def __init__(self, environment: Environment, clock: Clock, blobs: Blobs, house: House) -> None:
        self._environment = environment
        self._clock = clock
        self._blobs = blobs
        self._house = house
        self._rooms: dict[str, Room] = {}
        self._crashed: set[str] = set()
        self._beginning: asyncio.Task[None] | None = None
        self._is_daemon = False

    @cached_property
    def lock(self) -> Lock:
        """All plugins as they were accepted."""
        return catalogue(self._environment.home, builtin_folders())

    @cached_property
    def host(self) -> "Host":
        """What starts them."""
        more = PluginServices(self._house, self._rooms, lambda: self.host)
        services = deferred.host.Services(self._clock, self._blobs, more.table())
        feed = deferred.host.Feed(self._blobs, EVENT_TYPES)
        around = deferred.host.Surroundings(
            clock=self._clock,
            data=self._environment.home / "plugin-data",
            hidden=(str(self._environment.home),),
            settings=self._settings,
            sandbox=probe,
            verify=self._verified,
            sink=self._log_of,
        )
        host = deferred.host.Host(deferred.host.members_of(self.lock), around, services, feed)
        host.listen(self._changed)
        return host

    def begin(self, *, daemon: bool) -> None:
        """Start the eager plugins meanwhile; those that only a daemon has, only there. Again is fine."""
        self._is_daemon |= daemon
        eager = [one for one in self.lock.plugins if one.starts and one.manifest.start == "eager"]
        if self._beginning is None and any(map(self._is_here, eager)):
            self._beginning = asyncio.create_task(self.host.begin(daemon=daemon))

    async def renew(self) -> None:
        """Take in what a person installed, accepted, enabled or removed since; new sessions have it."""
        found = catalogue(self._environment.home, builtin_folders())
        if found == self.lock:
            return
        self.__dict__["lock"] = found
        if self._is_hosting:
            await self.host.renew(deferred.host.members_of(found))

    def tools(self, side: SessionSide) -> list[Tool]:
        """The tools of all plugins for one session; those of a plugin that cannot run say why when called."""
        found: list[Tool] = []
        for locked in self.lock.plugins:
            if locked.disabled or not self._is_here(locked):
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

    def enter(self, room: Room) -> None:
        """A session begins: what it does is told to those who listen, and its jobs hear of theirs."""
        self._rooms[room.stream.session] = room
        room.stream.listen(self._tell)

    def leave(self, session: str) -> None:
        """A session has ended; what plugins keep for it can go."""
        self._rooms.pop(session, None)
        if self._is_hosting:
            self.host.session_closed(session)

    async def end_job(self, session: str, folder: str, job: str) -> None:
        """End a background command of a session; what had ended by itself is as well."""
        with suppress(LimnosError, TimeoutError):
            async with asyncio.timeout(END_S):
                await self.host.perform(SHELL, "job_stop", SessionSide(session), {"job": job}, folder)

    async def close(self) -> None:
        """End all of them."""
        if self._is_hosting:
            await self.host.close()

    def _is_here(self, locked: Locked) -> bool:
        return self._is_daemon or not locked.manifest.daemon_only

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

    def _settings(self, name: str) -> Mapping[str, Any]:
        locked = self.lock.get(name)
        if locked is None:
            return {}
        return deferred.own_settings.read_settings(self._environment.home, locked.manifest)

    @cached_property
    def _mask(self) -> Mask:
        """What hides the secrets of this home; read once for the logs of all plugins."""
        return self._house.mask()

    def _log_of(self, name: str) -> "Callable[[Line], None]":
        """Writes down the log of one plugin, without secrets."""
        path, mask = log_of(self._environment.home, name), self._mask

        def write(line: "Line") -> None:
            deferred.log_lines.add_line(path, f"{line.time} {line.source}: {mask.text(line.text)}")

        return write

    def _tell(self, event: Event) -> None:
        if self._is_hosting:
            self.host.feed.publish(event.type, lambda: to_record(event))

    async def _verified(self, manifest: Manifest) -> str:
        """Why the files of a plugin are not those that a person accepted; empty when they are."""
        locked = self.lock.get(manifest.name)
        return "" if locked is None else await asyncio.to_thread(deferred.stale.verify, locked)

    def _changed(self, change: "Change") -> None:
        """Write into every open session that a plugin crashed, and that it works again."""
        crashed = change.state in ("down", "stopped") and change.why != BY_PERSON
        known = change.plugin in self._crashed
        if crashed:
            self._crashed.add(change.plugin)
        elif change.state == "running":
            self._crashed.discard(change.plugin)
        for room in tuple(self._rooms.values()):
            if change.plugin == SHELL and change.state in _GONE:
                room.jobs.lost()
            if crashed or (known and change.state == "running"):
                with suppress(LimnosError):  # the turn that meets the full disk says so
                    room.stream.emit(PluginChanged(**change._asdict()))


def _nothing() -> None:
    """There is nothing to end."""
