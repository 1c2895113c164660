"""All plugins of one kernel: their tools and stage handlers, started when needed and in the right order."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from limnos.kernel.errors import UsageError
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.stages import Pipeline
from limnos.kernel.tools import Execute, Output, Tool, ToolContext, ToolFailure
from limnos.plugins.adapters import PluginChannel, PluginTool, handler_of
from limnos.plugins.feed import Feed as Feed
from limnos.plugins.locked import Lock, Locked
from limnos.plugins.log_ring import Line, LogRing
from limnos.plugins.manifest import ChannelDeclaration, Manifest, ToolDeclaration
from limnos.plugins.offered import SessionSide, sending_tool_of, tool_of
from limnos.plugins.process import Surroundings as Surroundings
from limnos.plugins.restarts import Pace
from limnos.plugins.services import Services as Services
from limnos.plugins.unit import Change, Links, State, Unavailable, Unit

_DOWN: tuple[State, ...] = ("down", "stopped", "broken")
_NEVER: tuple[State, ...] = ("disabled", "broken")


class Member(NamedTuple):
    """A plugin as the lock has it. `waits_for` are the plugins that provide what it needs.

    `barred` says why it never runs, with the state that this is; None when it may.
    """

    manifest: Manifest
    waits_for: tuple[str, ...] = ()
    barred: tuple[State, str] | None = None


class Standing(NamedTuple):
    """How a plugin does. `start_ms` is what its last start took; `pid` 0 when nothing runs."""

    name: str
    version: str
    state: State
    why: str
    generation: int
    pid: int
    start_ms: float
    tools: tuple[str, ...]


class Host:
    """The plugins of a kernel. Nothing is started before it is used, or `begin` is called."""

    def __init__(
        self, members: Sequence[Member], around: Surroundings, services: Services, feed: Feed
    ) -> None:
        self.feed = feed
        self._services = services
        self._listeners: list[Callable[[Change], object]] = []
        self._pipelines: list[Pipeline] = []
        self._closing = False
        self._performed = 0
        self._around = around
        self._links = Links(services.serve, self._changed, self._needs, Pace(around.clock), feed)
        self._units: dict[str, Unit] = {}
        self._members: dict[str, Member] = {}
        for member in members:
            self._add(member)

    @property
    def standings(self) -> list[Standing]:
        """How each plugin does, in the order of the lock."""
        return [_standing(unit) for unit in self._units.values()]

    def tools(self, side: SessionSide) -> list[Tool]:
        """The tools of all plugins for one session, whether these run or not; not those that never will."""
        found: list[Tool] = []
        for unit in self._usable():
            look = partial(self.preflight, unit.name)
            for tool in unit.manifest.tools:
                found.append(tool_of(unit.name, tool, self.runs(unit.name, tool, side), look))
            for channel in unit.manifest.channels:
                found.append(sending_tool_of(unit.name, channel, self.sends(unit.name, channel), look))
        return found

    def runs(self, plugin: str, tool: ToolDeclaration, side: SessionSide) -> Execute:
        """What does a tool's calls. Raises UsageError."""
        return PluginTool(self.unit(plugin), self._services, tool, side)

    def sends(self, plugin: str, channel: ChannelDeclaration) -> Execute:
        """What sends through a channel. Raises UsageError."""
        return PluginChannel(self.unit(plugin), channel.name)

    def preflight(self, plugin: str, _: Arguments) -> ToolError | None:
        """Why no call of a plugin can work now, before anybody is asked."""
        error = self.unit(plugin).hopeless()
        return None if error is None else ToolError("unavailable", error.what, error.fix)

    async def perform(
        self, plugin: str, tool: str, side: SessionSide, arguments: Arguments, cwd: str
    ) -> Output:
        """Run a tool because a person asked for it. Raises UsageError, and Unavailable when it fails."""
        unit = self.unit(plugin)
        declared = next((one for one in unit.manifest.tools if one.name == tool), None)
        if declared is None:
            raise UsageError(f"{plugin} has no tool {tool}", "limnos plugins list --json")
        self._performed += 1
        context = ToolContext(f"person-{self._performed}", cwd, _unheard)
        try:
            return await self.runs(plugin, declared, side)(arguments, context)
        except ToolFailure as failure:
            raise Unavailable(failure.error.detail, failure.error.hint) from None

    def attach(self, pipeline: Pipeline) -> Callable[[], None]:
        """Put the stage handlers into a session's pipeline and keep them right; returns what ends that.

        Those of a plugin that cannot run are there too: a guard that is not there must deny, not vanish.
        """
        for unit in self._units.values():
            self._attach(pipeline, unit)
        self._pipelines.append(pipeline)
        return partial(self._pipelines.remove, pipeline)

    def listen(self, listener: Callable[[Change], object]) -> Callable[[], None]:
        """Tell `listener` of every change of a plugin's state; returns what ends that."""
        self._listeners.append(listener)
        return partial(self._listeners.remove, listener)

    async def begin(self, *, daemon: bool) -> None:
        """Start the eager plugins, each as soon as what it needs is ready; those for a daemon only there."""
        eager = [
            unit
            for unit in self._usable()
            if unit.manifest.start == "eager" and (daemon or not unit.manifest.daemon_only)
        ]
        await asyncio.gather(*(unit.ready() for unit in eager), return_exceptions=True)

    def unit(self, name: str) -> Unit:
        """The plugin of that name. Raises UsageError."""
        if name not in self._units:
            known = ", ".join(self._units) or "none is installed"
            raise UsageError(f"there is no plugin {name!r}", f"the plugins: {known}")
        return self._units[name]

    async def restart(self, name: str) -> None:
        """Start a plugin anew. Raises UsageError and Unavailable."""
        await self.unit(name).restart()

    async def stop(self, name: str) -> None:
        """End a plugin until a person restarts it. Raises UsageError."""
        await self.unit(name).stop("stopped by a person")

    def lines(self, name: str, last: int) -> list[Line]:
        """The newest lines of a plugin's log. Raises UsageError."""
        return self.unit(name).log.lines(last)

    def settings_changed(self, name: str, settings: Mapping[str, Any]) -> None:
        """Tell a plugin that runs what its settings are now. Raises UsageError."""
        if (process := self.unit(name).process) is not None:
            process.connection.notify("settings.changed", settings=dict(settings))

    def session_closed(self, session: str) -> None:
        """Tell the plugins that run; what they keep for the session can go."""
        for unit in self._units.values():
            if unit.process is not None:
                unit.process.connection.notify("session.closed", session=session)

    async def renew(self, members: Sequence[Member]) -> None:
        """Go on with other plugins: those that changed or went are ended, new ones can be used from now on.

        A plugin that stays as it was is left alone. Sessions that are open keep the tools they had.
        """
        now = {member.manifest.name: member for member in members}
        for name in [name for name, member in self._members.items() if now.get(name) != member]:
            unit = self._units[name]
            await unit.stop("it was changed", "idle")
            for pipeline in self._pipelines:
                pipeline.remove(name)
            del self._units[name], self._members[name]
        for member in members:
            if member.manifest.name not in self._units:
                self._add(member)
                unit = self._units[member.manifest.name]
                for pipeline in self._pipelines:
                    self._attach(pipeline, unit)

    async def close(self) -> None:
        """End all plugins, those first that others do not wait for; returns when nothing of them is left."""
        self._closing = True
        left = {name for name, unit in self._units.items() if unit.state not in _NEVER}
        while left:
            needed = {other for name in left for other in self._members[name].waits_for}
            last = (left - needed) or left
            await asyncio.gather(*(self._units[name].stop("limnos ends", "idle") for name in last))
            left -= last
        self.feed.close()

    def _add(self, member: Member) -> None:
        name, around = member.manifest.name, self._around
        log = LogRing(around.clock, around.sink(name))
        self._members[name] = member
        self._units[name] = Unit(member.manifest, around, self._links, log)
        if member.barred is not None:
            self._units[name].settle(*member.barred)

    async def _needs(self, manifest: Manifest) -> None:
        if self._closing:
            raise Unavailable("limnos ends", "start it again")
        providers = [self._units[name].ready() for name in self._members[manifest.name].waits_for]
        await asyncio.gather(*providers)

    def _usable(self) -> Iterable[Unit]:
        return [unit for unit in self._units.values() if unit.state not in _NEVER]

    def _changed(self, change: Change) -> None:
        for pipeline in self._pipelines:
            if change.state in _DOWN:
                pipeline.detach(change.plugin, change.why)
            elif change.state == "disabled":
                pipeline.remove(change.plugin)
            elif change.state == "running":
                self._attach(pipeline, self._units[change.plugin])
        for listener in tuple(self._listeners):
            listener(change)

    def _attach(self, pipeline: Pipeline, unit: Unit) -> None:
        for declared in unit.manifest.stages if unit.state != "disabled" else ():
            pipeline.attach(handler_of(unit, declared))


def _unheard(text: str, fraction: float | None = None) -> None:
    """Nobody waits for the progress."""


def _standing(unit: Unit) -> Standing:
    manifest = unit.manifest
    return Standing(
        manifest.name,
        manifest.version,
        unit.state,
        unit.why,
        unit.generation,
        unit.process.pid if unit.process is not None else 0,
        unit.started_ms,
        tuple(tool.name for tool in manifest.tools),
    )


def members_of(lock: Lock) -> list[Member]:
    """The plugins of a lock, those that never run with the reason."""
    return [_member(locked) for locked in lock.plugins]


def _member(locked: Locked) -> Member:
    waits = tuple(dict.fromkeys(need.plugin for need in locked.needs))
    if locked.disabled:
        why = "it is off until a person enables it" if locked.manifest.off else "a person disabled it"
        return Member(locked.manifest, waits, ("disabled", why))
    if locked.down:
        return Member(locked.manifest, waits, ("broken", locked.down))
    return Member(locked.manifest, waits)
