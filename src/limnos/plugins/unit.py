"""One plugin over its generations: started when needed, watched, ended as a group, started again."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from limnos.kernel.errors import LimnosError
from limnos.kernel.seams import Clock
from limnos.plugins import payloads
from limnos.plugins.connection import Connection, PluginLost, PluginRefused, Watchers
from limnos.plugins.feed import CAPABILITY, Feed
from limnos.plugins.log_ring import LogRing
from limnos.plugins.manifest import Manifest
from limnos.plugins.process import (
    Generation,
    PluginProcess,
    PluginStartError,
    PluginUnfitError,
    Surroundings,
    launch,
)
from limnos.plugins.restarts import Pace, Restarts
from limnos.plugins.within import within
from limnos.wire.arena import Arena
from limnos.wire.frames import Notification, Request

T = TypeVar("T")
State: TypeAlias = Literal["idle", "starting", "running", "down", "stopped", "stopping", "disabled", "broken"]
PING_EVERY_S: Final = 15.0
HUNG_S: Final = 15.0
READY_S: Final = 30.0


class Unavailable(LimnosError):  # noqa: N818 - a state of the plugin
    """The plugin cannot be used now."""


class Change(NamedTuple):
    """A plugin is in another state. `generation` counts its starts; `why` in words."""

    plugin: str
    state: State
    generation: int
    why: str = ""


class Links(NamedTuple):
    """What a unit is connected to.

    `serve` does what the plugin asks; `changed` hears of every change of state and returns at once; `needs`
    starts what provides the plugin's needs, and raises Unavailable.
    """

    serve: "Callable[[Unit, Connection, Request | Notification], None]"
    changed: Callable[[Change], object]
    needs: Callable[[Manifest], Awaitable[None]]
    pace: Pace
    feed: Feed


class Unit:
    """One plugin. Only its own methods change its state; what comes late from an older process does not."""

    def __init__(self, manifest: Manifest, around: Surroundings, links: Links, log: LogRing) -> None:
        self.manifest = manifest
        self.log = log
        self.state: State = "idle"
        self.why = ""
        self.generation = 0
        self.process: PluginProcess | None = None
        self.facilities: tuple[str, ...] = ()
        self.busy = False
        self.started_ms = 0.0
        self._around = around
        self._links = links
        self._restarts = Restarts(around.clock)
        self._starting: asyncio.Task[PluginProcess] | None = None
        self._is_ready: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._burials: set[asyncio.Task[Any]] = set()
        self._resting: asyncio.Task[None] | None = None
        self._arena: Arena | None = None
        self._last_used = 0.0
        self._stops = 0

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.manifest.name

    @property
    def arena(self) -> Arena | None:
        """The arena of the running process, or of the one that starts."""
        return self.process.arena if self.process is not None else self._arena

    @property
    def feed(self) -> Feed:
        """The events of this limnos."""
        return self._links.feed

    @property
    def shares(self) -> bool:
        """Whether the running process said that it uses its arena."""
        return self.process is not None and self.process.shares

    @property
    def clock(self) -> Clock:
        """The clock that its limits go by."""
        return self._around.clock

    def hopeless(self) -> Unavailable | None:
        """Why no call can work now; None when one can, or would start the plugin."""
        return self.unavailable() if self.state in ("stopped", "disabled", "broken", "down") else None

    async def ready(self) -> PluginProcess:
        """The running process, started if need be. Raises Unavailable."""
        if self.state == "running" and self.process is not None:
            return self.process
        if self.state == "stopping" and self._resting is not None:
            await asyncio.wait({self._resting})
        if self.state in ("idle", "starting"):
            if self._starting is None:
                self._starting = self._spawn(self._start())
            starting = self._starting
            try:
                return await asyncio.shield(starting)
            except PluginStartError as error:
                raise Unavailable(error.what, error.fix) from None
            except asyncio.CancelledError:
                if not starting.cancelled():
                    raise
                raise self.unavailable() from None  # somebody stopped it while it started
        raise self.unavailable()

    def unavailable(self) -> Unavailable:
        """Why it cannot be used now, and what can be done."""
        name = self.manifest.name
        match self.state:
            case "down":
                return Unavailable(
                    f"the plugin {name} is down: {self.why}", "it is started again; call it in a moment"
                )
            case "disabled":
                return Unavailable(f"the plugin {name} is disabled", f"limnos plugins enable {name}")
            case "broken":
                return Unavailable(f"the plugin {name} cannot be used: {self.why}", "limnos plugins lock")
            case "stopped":
                return Unavailable(
                    f"the plugin {name} is stopped: {self.why}", f"limnos plugins restart {name}"
                )
            case _:
                return Unavailable(f"the plugin {name} is {self.state}", "try again in a moment")

    async def request(self, method: str, **params: Any) -> Any:
        """The answer of the plugin, started if need be; raises as `ready` and `Connection.request`."""
        await self.ready()
        return await self.ask(method, **params)

    def ask(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        """What the running plugin will answer; counts as use of it. Raises as `Connection.ask`."""
        if self.process is None:
            raise PluginLost("it has ended")
        self._last_used = self._around.clock.monotonic()
        return self.process.connection.ask(method, **params)

    async def stop(self, reason: str, state: State = "stopped") -> None:
        """End the process: it may save its state, then the group is ended. Nothing restarts it by itself.

        With the state `idle` the next use starts it again.
        """
        if self.state in ("idle", "stopped", "disabled", "broken") and not self._burials:
            self._change(state, reason)
            return
        self._stops = this_stop = self._stops + 1
        self._change("stopping", reason)
        starting, self._starting = self._starting, None
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        if starting is not None:
            await asyncio.wait({starting})
        process, self.process = self.process, None
        if process is not None:
            self._spawn(process.stop(reason), self._burials)  # goes on whatever becomes of this stop
        if self._burials:
            await asyncio.wait(self._burials)
        if self._stops == this_stop:
            self._change(state, reason)

    async def restart(self) -> None:
        """Start it anew because a person said so: crashes before do not count. Raises Unavailable."""
        if self.state not in ("idle", "disabled", "broken"):
            await self.stop("restarted by a person", "idle")
        self._restarts.forgive()
        await self.ready()

    def settle(self, state: State, why: str) -> None:
        """Put a plugin that never runs into the state that says so."""
        self._change(state, why)

    def heard_ready(self, facilities: tuple[str, ...]) -> str:
        """The plugin says that it works; returns what is wrong with saying it, empty when nothing is."""
        if self._is_ready is None or self._is_ready.done():
            return "it said ready once more"
        missing = [one for one in self.manifest.provides if one not in facilities]
        self.facilities = facilities
        if missing:
            fault = f"it does not provide {', '.join(missing)}, as its manifest says"
            self._is_ready.set_exception(PluginLost(fault))
            return fault
        self._is_ready.set_result(None)
        return ""

    async def _start(self) -> PluginProcess:
        self._change("starting")
        began = self._around.clock.monotonic()
        try:
            await self._links.needs(self.manifest)
            await self._verify()
            self.generation += 1
            process = await self._launched(self.generation)
        except PluginUnfitError as error:
            self._change("stopped", error.what)
            raise
        except Unavailable as error:
            self._change("idle", error.what)
            raise PluginStartError(error.what, error.fix) from None
        except LimnosError as error:
            self._crashed(error.what)
            raise PluginStartError(error.what, error.fix) from None
        finally:
            self._starting = None
        self._last_used = self._around.clock.monotonic()
        self.started_ms = (self._last_used - began) * 1000
        self.process = process
        self._change("running")
        if gone := process.connection.closed:  # between its `ready` and now
            self._lost(self.generation, gone)
            raise PluginStartError(f"{self.name} ended as soon as it was ready: {gone}", self._read_log())
        self._spawn(self._watch(process))
        return process

    async def _verify(self) -> None:
        verify = self._around.verify
        if verify is not None and (why := await verify(self.manifest)):
            raise PluginUnfitError(f"{self.name} is not started: {why}", "limnos plugins lock")

    async def _launched(self, generation: int) -> PluginProcess:
        self._is_ready = asyncio.get_running_loop().create_future()
        self._arena = arena = Arena(self.manifest.limits.arena)
        watchers = Watchers(
            partial(self._serve, generation),
            partial(self._faulty, generation),
            partial(self._lost, generation),
            partial(payloads.given_back, arena),
        )
        hears = CAPABILITY in self.manifest.capabilities
        start = Generation(self.manifest, generation, arena, self._links.feed if hears else None)
        process = await launch(start, self._around, watchers, self.log)
        try:
            await within(self._around.clock, READY_S, self._until_ready(process))
        except (TimeoutError, PluginLost, PluginRefused) as error:
            said = str(error) or f"it was not ready in {READY_S:g} s"
            await process.end("it did not start")
            raise PluginStartError(f"{self.manifest.name} did not start: {said}", self._read_log()) from None
        except BaseException:
            await process.end("it did not start")
            raise
        return process

    async def _until_ready(self, process: PluginProcess) -> None:
        await process.connection.request("start")
        assert self._is_ready is not None
        await self._is_ready

    def _serve(self, generation: int, connection: Connection, frame: Request | Notification) -> None:
        if generation == self.generation:
            self._links.serve(self, connection, frame)

    def _faulty(self, generation: int, fault: str) -> None:
        self.log.complain(f"generation {generation}: {fault}")

    def _lost(self, generation: int, why: str) -> None:
        """The wire of a process is closed; only that of the present one, while it should run, is a crash."""
        if generation != self.generation:
            return
        if self._is_ready is not None and not self._is_ready.done():
            self._is_ready.set_exception(PluginLost(why))
            self._is_ready.exception()  # who waits for the start hears it; nobody may be waiting any more
        process = self.process
        if self.state == "running" and process is not None:
            self.process = None
            self._spawn(self._buried(process, why), self._burials)
            self._crashed(why)

    async def _buried(self, process: PluginProcess, why: str) -> None:
        status = await process.end(why)
        self.log.note(f"generation {process.generation} ended: {why} (status {status})")

    def _read_log(self) -> str:
        return f"limnos plugins logs {self.manifest.name}"

    def _crashed(self, why: str) -> None:
        delay = self._restarts.crashed()
        self.busy = False
        if delay is None:
            self._change("stopped", f"it crashed four times in five minutes, the last time: {why}")
            return
        self._change("down", why)
        self._spawn(self._again(delay))

    async def _again(self, delay: float) -> None:
        await self._around.clock.sleep(delay)
        await self._links.pace.admit()
        if self.state == "down":
            self.state = "idle"
            with suppress(Unavailable):
                await self.ready()

    async def _watch(self, process: PluginProcess) -> None:
        """Ask now and then whether it is alive; end it when it hangs, or when nobody needs it any more."""
        clock = self._around.clock
        while self.process is process:
            await clock.sleep(PING_EVERY_S)
            if self._is_idle():
                self._resting = self._spawn(self.stop("nobody used it", "idle"))
                return
            try:
                await within(clock, HUNG_S, process.connection.request("ping"))
            except TimeoutError:
                process.connection.close(f"it hangs: no answer to a ping in {HUNG_S:g} s")
            except (PluginLost, PluginRefused):
                return

    def _is_idle(self) -> bool:
        if self.process is not None and self.process.connection.waiting:
            self._last_used = self._around.clock.monotonic()  # a call that runs is use of it
        unused = self._around.clock.monotonic() - self._last_used
        wanted = self.manifest.start == "eager" or self.busy
        return not wanted and unused >= self.manifest.limits.idle_stop_s

    def _change(self, state: State, why: str = "") -> None:
        self.state, self.why = state, why
        self.log.note(f"{state}{f': {why}' if why else ''} (generation {self.generation})")
        self._links.changed(Change(self.manifest.name, state, self.generation, why))

    def _spawn(
        self, work: Coroutine[Any, Any, T], among: "set[asyncio.Task[Any]] | None" = None
    ) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        kept = self._tasks if among is None else among
        kept.add(task)
        task.add_done_callback(kept.discard)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        if (
            not task.cancelled()
            and (fault := task.exception()) is not None
            and not isinstance(fault, LimnosError)
        ):
            self.log.note(f"limnos: {type(fault).__name__}: {fault}")
