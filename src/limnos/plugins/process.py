"""One generation of a plugin: its process, its wire and its arena, from the start to the last trace."""

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from limnos.kernel.errors import LimnosError
from limnos.kernel.seams import Clock
from limnos.plugins.connection import Connection, PluginLost, PluginRefused, Watchers
from limnos.plugins.feed import Feed
from limnos.plugins.log_ring import Line, LogRing
from limnos.plugins.manifest import Manifest
from limnos.plugins.within import within
from limnos.process.profile import NoSandbox, Profile
from limnos.process.spawn import ChildSpec, Drain, Leader, Limits, Streams, start_errors, start_leader
from limnos.wire import frames
from limnos.wire.arena import WAYS, Arena
from limnos.wire.methods import INLINE
from limnos.wire.ring import Registration

if TYPE_CHECKING:
    from limnos.process.sandbox import Sandbox

HANDSHAKE_S: Final = 10.0
STOP_S: Final = 5.0
LAST_WORDS_S: Final = 0.2  # for what a process sent right before its end
PYTHON: Final = "python:"
_SYSTEM_PATH: Final = "/usr/bin:/bin:/usr/local/bin"
_SDK: Final = str(Path(__file__).resolve().parents[2])
_SDK_IN_SANDBOX: Final = "/run/limnos"
_FILES: Final = "files:"


class PluginStartError(LimnosError):
    """A plugin that cannot be started, or does not begin as it should; another try may help."""


class PluginUnfitError(PluginStartError):
    """A plugin that cannot work here at all: starting it again changes nothing."""


class Surroundings(NamedTuple):
    """What all plugins of one kernel are started with.

    `data` holds a folder for each plugin; `hidden` are folders that no tool may show. `settings` gives those
    of one plugin. `sandbox` looks for the sandbox once; `unconfined` are third-party plugins that a person
    lets run without one. `verify` says why a plugin is not the one that was accepted, empty when it is.
    `sink` gives who writes down the log of one plugin.
    """

    clock: Clock
    data: Path
    hidden: tuple[str, ...]
    settings: Callable[[str], Mapping[str, Any]]
    sandbox: "Callable[[], Sandbox | NoSandbox]"
    unconfined: Sequence[str] = ()
    verify: Callable[[Manifest], Awaitable[str]] | None = None
    sink: Callable[[str], Callable[[Line], object] | None] = lambda name: None


class Generation(NamedTuple):
    """One start of a plugin: the number it has, the arena it gets, and the feed if it may hear events."""

    manifest: Manifest
    number: int
    arena: Arena
    feed: Feed | None = None


class PluginProcess:
    """A started process that has shaken hands."""

    def __init__(self, connection: Connection, arena: Arena, generation: int) -> None:
        self.connection = connection
        self.arena = arena
        self.generation = generation
        self.hears: Registration | None = None
        self.ring: dict[str, int] | None = None
        self.shares = False  # whether it uses the arena, as its answer to `initialize` says
        self._leader: Leader | None = None
        self._held = ExitStack()

    @property
    def pid(self) -> int:
        """The process id, which is that of its group too; 0 before the start."""
        return self._leader.pid if self._leader is not None else 0

    async def stop(self, reason: str) -> None:
        """Let it save what it keeps, within 5 seconds, then end it as `end` does."""
        with suppress(PluginLost, PluginRefused, TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self.connection.request("stop", reason=reason)
        await self.end(f"stopped: {reason}", STOP_S)

    async def end(self, why: str, grace_s: float = 0.0) -> int | None:
        """End the whole group (TERM, `grace_s` seconds, KILL), then give everything back; the exit status.

        May be called twice. Memory that it shared is given back only when nobody of the group is left.
        """
        try:
            return await self._leader.stop(grace_s) if self._leader is not None else None
        finally:
            self.connection.close(why)
            self._held.close()
            self.arena.close()

    async def begin(self, spec: ChildSpec, log: LogRing) -> None:
        """Start the program. Raises StartError."""
        with ExitStack() as undo:
            ours, theirs = socket.socketpair()
            undo.callback(ours.close)
            with start_errors(spec), theirs:
                read, write = os.pipe()
                undo.callback(os.close, read)
                try:
                    self._leader = start_leader(spec, Streams(theirs.fileno(), theirs.fileno(), write))
                finally:
                    os.close(write)
            undo.pop_all()
        self._held.callback(Drain(read, log.take).finish)
        await asyncio.get_running_loop().create_connection(lambda: self.connection, sock=ours)
        watching = asyncio.create_task(self._see_the_end(self._leader))
        self._held.callback(watching.cancel)

    async def _see_the_end(self, leader: Leader) -> None:
        """Close the wire of a process that has ended, also when something it started keeps it open."""
        status = await leader.wait()
        await asyncio.sleep(LAST_WORDS_S)
        self.connection.close(f"it ended, {_ended(status)}")

    def listen(self, feed: Feed) -> tuple[int, ...]:
        """Join the feed; returns the descriptors that the program inherits for it."""
        ring, reader = feed.join()
        self._held.callback(feed.leave, reader)
        self.hears = reader
        shape = {"slots": ring.slots, "slot_size": ring.slot_size, "after": reader.after}
        self.ring = {"descriptor": ring.descriptor, "eventfd": reader.eventfd, **shape}
        return ring.descriptor, reader.eventfd

    def hold(self) -> ExitStack:
        """What is given back at the end."""
        return self._held


async def launch(
    generation: Generation, around: Surroundings, watchers: Watchers, log: LogRing
) -> PluginProcess:
    """Start a generation and shake hands with it.

    Raises PluginUnfitError or PluginStartError; then nothing of it is left.
    """
    manifest = generation.manifest
    connection = Connection(watchers)
    process = PluginProcess(connection, generation.arena, generation.number)
    try:
        data = around.data / manifest.name
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        heard = process.listen(generation.feed) if generation.feed is not None else ()
        spec = _confined(manifest, process, data, around)
        spec = spec._replace(pass_fds=(*spec.pass_fds, *heard))
        await process.begin(spec, log)
        await _shake_hands(manifest, process, data, around)
    except BaseException as error:
        status = await process.end("it could not be started")
        if isinstance(error, PluginLost):
            raise PluginStartError(
                f"{manifest.name} ended while it started ({_ended(status)}): {error}", _read_log(manifest)
            ) from None
        if isinstance(error, OSError):
            raise PluginStartError(
                f"{manifest.name} cannot be started: {error.strerror or error}",
                f"make room in {around.data}, or free memory, processes and open files",
            ) from None
        raise
    return process


async def _shake_hands(manifest: Manifest, process: PluginProcess, data: Path, around: Surroundings) -> None:
    arena = process.arena
    try:
        answer = await within(
            around.clock,
            HANDSHAKE_S,
            process.connection.request(
                "initialize",
                protocol=frames.PROTOCOL,
                plugin=manifest.name,
                generation=process.generation,
                data=str(data),
                provides=list(manifest.provides),
                settings=dict(around.settings(manifest.name)),
                arena={"descriptor": arena.descriptor, "size": manifest.limits.arena},
                hidden=list(around.hidden),
                ring=process.ring,
                limits={"frame": frames.LIMIT, "inline": INLINE},
            ),
        )
    except TimeoutError:
        raise PluginStartError(
            f"{manifest.name} did not answer initialize in {HANDSHAKE_S:g} s", _read_log(manifest)
        ) from None
    except PluginRefused as refused:
        raise PluginUnfitError(
            f"{manifest.name} refused to start: {refused}", refused.hint or _read_log(manifest)
        ) from None
    said = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    spoken = said.get("protocol")
    process.shares = said.get("arena") in WAYS
    if type(spoken) is not int or spoken != frames.PROTOCOL:
        raise PluginUnfitError(
            f"{manifest.name} speaks protocol {spoken!r}, this limnos speaks {frames.PROTOCOL}",
            f"install a version of {manifest.name} for this limnos",
        )


def _confined(manifest: Manifest, process: PluginProcess, data: Path, around: Surroundings) -> ChildSpec:
    """What runs: a built-in plugin as it is, another one in a sandbox made of its capabilities."""
    limits = manifest.limits
    spec = ChildSpec(
        _argv(manifest),
        manifest.folder if not manifest.builtin else "/",
        {"PATH": _SYSTEM_PATH, "LANG": "C.UTF-8"},
        Limits(data=limits.memory or None, cpu=limits.cpu, files=limits.files or None),
        (process.arena.descriptor,),
    )
    if manifest.builtin:
        return spec
    if manifest.name in around.unconfined:
        return spec._replace(env={**spec.env, "PYTHONPATH": _SDK, "HOME": str(data)})
    sandbox = around.sandbox()
    if isinstance(sandbox, NoSandbox):
        raise PluginUnfitError(
            f"{manifest.name} is not started, since no sandbox can hold it: {sandbox.why}", sandbox.fix
        )
    env = {**spec.env, "PYTHONPATH": _SDK_IN_SANDBOX, "HOME": str(data)}
    inner = spec._replace(env=env, limits=spec.limits._replace(processes=limits.processes))
    return process.hold().enter_context(sandbox.enter(inner, profile_of(manifest, data, around.hidden)))


def profile_of(manifest: Manifest, data: Path, hidden: tuple[str, ...]) -> Profile:
    """What a third-party plugin may see and do: its own folders, and what its capabilities name."""
    named = [one.removeprefix(_FILES) for one in manifest.capabilities if one.startswith(_FILES)]
    writable = tuple(os.path.expanduser(one.removesuffix(":rw")) for one in named if one.endswith(":rw"))
    readable = tuple(os.path.expanduser(one) for one in named if not one.endswith(":rw"))
    return Profile(
        workspace=str(data),
        hidden=hidden,
        readable=(manifest.folder, *readable),
        writable=writable,
        network="network:raw" in manifest.capabilities,
        protect=bool(writable),
    )


def _argv(manifest: Manifest) -> tuple[str, ...]:
    first, *rest = manifest.entry
    module = first.removeprefix(PYTHON)
    if module != first and manifest.builtin:
        return (sys.executable, "-I", "-m", module, *rest)
    if module != first:
        return (os.path.realpath(sys.executable), "-B", "-m", module, *rest)
    return (os.path.join(manifest.folder, first) if "/" in first else first, *rest)


def _ended(status: int | None) -> str:
    if status is None:
        return "it never ran"
    return f"signal {-status}" if status < 0 else f"exit {status}"


def _read_log(manifest: Manifest) -> str:
    return f"read limnos plugins logs {manifest.name}"
