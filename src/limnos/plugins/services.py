"""What plugins ask of limnos: each method checked against its capability, then done; nothing else is."""

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from limnos.kernel.errors import LimnosError
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.tools import Report
from limnos.plugins import payloads
from limnos.plugins.capabilities import crossing, refusal
from limnos.plugins.connection import Connection
from limnos.plugins.offered import FileChange
from limnos.plugins.payloads import PayloadError
from limnos.plugins.unit import Unit
from limnos.wire import frames, methods
from limnos.wire.arena import Arena, ArenaFull, RangeError
from limnos.wire.frames import Notification, Request
from limnos.wire.methods import INLINE, Params
from limnos.wire.table import TO_KERNEL

MOST_OPEN: Final = 64  # requests of one plugin that are worked on at once
PROGRESS_A_SECOND: Final = 20


class ServiceError(Exception):
    """A request that was not done; `code` as in `wire.frames`."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


class Asked(NamedTuple):
    """One request: of which plugin, its parameters, and the arena that payloads lie in."""

    unit: Unit
    params: Any
    arena: Arena


Service: TypeAlias = Callable[[Asked], Awaitable[Any]]


class OpenCall(NamedTuple):
    """A running call, as its plugin may speak of it."""

    plugin: str
    report: Report
    changed: Callable[[str, FileChange], object] | None


class Services:
    """Serves all plugins of a kernel. `more` are methods that other parts of limnos do.

    A method without anybody who does it is answered with `unavailable`.
    """

    def __init__(self, clock: Clock, blobs: Blobs, more: Mapping[str, Service]) -> None:
        self._clock = clock
        self._blobs = blobs
        self.calls: dict[str, OpenCall] = {}
        self._open: dict[str, int] = {}
        self._progress: dict[str, tuple[int, int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        own: dict[str, Service] = {
            "arena.lease": self._lease,
            "files.changed": self._file_changed,
            "blob.put": self._put,
            "blob.get": self._get,
            "events.subscribe": self._subscribe,
        }
        self._services: Mapping[str, Service] = {**own, **more}
        self._told: Mapping[str, Callable[[Unit, Any, Arena], object]] = {
            "ready": _ready,
            "busy": _busy,
            "log": lambda unit, params, _: unit.log.log(params.level, params.text),
            "tool.progress": self._progressed,
            "arena.release": lambda unit, params, arena: arena.release(params.lease),
        }

    def serve(self, unit: Unit, connection: Connection, frame: Request | Notification) -> None:
        """Do what a plugin asks, or hear what it tells. Returns at once; faults go to the plugin's log."""
        params = self._checked(unit, connection, frame)
        arena = unit.arena
        if params is None or arena is None:
            return
        if isinstance(frame, Notification):
            self._hear(unit, params, arena)
        elif self._open.get(unit.name, 0) >= MOST_OPEN:
            connection.refuse(frame, frames.REFUSED, f"{MOST_OPEN} requests are open", "wait for answers")
        else:
            task = asyncio.get_running_loop().create_task(
                self._answer(connection, frame, Asked(unit, params, arena))
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def forget(self, call: str) -> None:
        """A call has its result: what its plugin still says about it counts no more."""
        self.calls.pop(call, None)
        self._progress.pop(call, None)

    def _checked(self, unit: Unit, connection: Connection, frame: Request | Notification) -> Params | None:
        """The parameters of a frame that may be acted on; of any other the plugin is told why not."""
        method = TO_KERNEL.get(frame.method)
        code, why = frames.REFUSED, refusal(unit.name, unit.manifest.capabilities, frame.method)
        if not why and method is not None:
            try:
                params = payloads.read(method.params, frame.params)
            except PayloadError as error:
                code, why = frames.BAD_PARAMETERS, str(error)
            else:
                why = crossing(unit.name, unit.manifest.capabilities, params)
                if not why:
                    return params
        elif method is None:
            code = frames.NO_METHOD
        unit.log.complain(f"refused: {why}")
        if isinstance(frame, Request):
            connection.refuse(frame, code, why)
        return None

    def _hear(self, unit: Unit, params: Params, arena: Arena) -> None:
        told = self._told.get(params.type) or self._heard_by_others(params.type)
        if told is not None:
            told(unit, params, arena)

    def _heard_by_others(self, method: str) -> Callable[[Unit, Any, Arena], object] | None:
        service = self._services.get(method)
        if service is None:
            return None

        def told(unit: Unit, params: Any, arena: Arena) -> None:
            task = asyncio.get_running_loop().create_task(self._quietly(service, Asked(unit, params, arena)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return told

    async def _quietly(self, service: Service, asked: Asked) -> None:
        try:
            await service(asked)
        except (ServiceError, LimnosError, PayloadError) as error:
            asked.unit.log.complain(f"{asked.params.type} was not done: {error}")
        except Exception as error:  # noqa: BLE001 - the border to plugins: nothing that one tells breaks limnos
            asked.unit.log.complain(f"{asked.params.type} broke: {type(error).__name__}: {error}")

    async def _answer(self, connection: Connection, request: Request, asked: Asked) -> None:
        name = asked.unit.name
        self._open[name] = self._open.get(name, 0) + 1
        try:
            connection.reply(request, await self._do(asked))
        except ServiceError as error:
            connection.refuse(request, error.code, str(error), error.hint)
        except PayloadError as error:
            connection.refuse(request, frames.BAD_PARAMETERS, str(error))
        except ArenaFull as error:
            connection.refuse(request, frames.FULL, error.what, error.fix)
        except RangeError as error:
            connection.refuse(request, frames.BAD_PARAMETERS, str(error))
        except LimnosError as error:
            connection.refuse(request, frames.REFUSED, error.what, error.fix)
        except Exception as error:  # noqa: BLE001 - the border to plugins: one always gets its answer
            asked.unit.log.complain(f"{request.method} broke: {type(error).__name__}: {error}")
            connection.refuse(request, frames.FAULT, f"{request.method} broke: {type(error).__name__}")
        finally:
            self._open[name] -= 1

    async def _do(self, asked: Asked) -> Any:
        service = self._services.get(asked.params.type)
        if service is None:
            raise ServiceError(frames.UNAVAILABLE, f"nothing here does {asked.params.type}")
        return await service(asked)

    async def _lease(self, asked: Asked) -> Any:
        try:
            return asked.arena.lease(asked.params.size).at()
        except RangeError as error:
            raise ServiceError(frames.BAD_PARAMETERS, str(error)) from None

    async def _file_changed(self, asked: Asked) -> Any:
        params: methods.FilesChanged = asked.params
        call = self.calls.get(params.call)
        if call is None or call.plugin != asked.unit.name:
            raise ServiceError(frames.BAD_PARAMETERS, f"{params.call} is no running call of this plugin")
        before = _bytes(asked.arena, params.before, params.before_at)
        after = _bytes(asked.arena, params.after, params.after_at)
        if call.changed is not None:
            await asyncio.to_thread(call.changed, params.call, FileChange(params.path, before, after))
        return {}

    async def _put(self, asked: Asked) -> Any:
        params: methods.BlobPut = asked.params
        data = _bytes(asked.arena, params.data, params.data_at)
        return {"block": await asyncio.to_thread(self._blobs.put, data or b"")}

    async def _get(self, asked: Asked) -> Any:
        try:
            data = await asyncio.to_thread(self._blobs.get, asked.params.block)
        except KeyError:
            raise ServiceError(frames.REFUSED, f"there is no block {asked.params.block}") from None
        if len(data) <= INLINE or not asked.unit.shares:
            return {"data": base64.b64encode(data).decode()}
        return {"data_at": asked.arena.write(asked.arena.lease(len(data)), data)}

    async def _subscribe(self, asked: Asked) -> Any:
        process = asked.unit.process
        if process is None or process.hears is None:
            raise ServiceError(frames.UNAVAILABLE, "there is no event ring", "ask again once you are ready")
        try:
            return {"kinds": asked.unit.feed.subscribe(process.hears, asked.params.types)}
        except KeyError as error:
            raise ServiceError(frames.BAD_PARAMETERS, f"there is no type of event {error}") from None

    def _progressed(self, unit: Unit, params: methods.ToolProgress, arena: Arena) -> None:
        call = self.calls.get(params.call)
        if call is None or call.plugin != unit.name:
            return
        second = int(self._clock.monotonic())
        known, count = self._progress.get(params.call, (second, 0))
        count = count + 1 if known == second else 1
        self._progress[params.call] = (second, count)
        if count <= PROGRESS_A_SECOND:
            call.report(params.text, params.fraction)


def _ready(unit: Unit, params: methods.Ready, arena: Arena) -> None:
    if fault := unit.heard_ready(tuple(params.facilities)):
        unit.log.complain(fault)


def _busy(unit: Unit, params: methods.Busy, arena: Arena) -> None:
    unit.busy = params.busy


def _bytes(arena: Arena, given: str | None, at: Mapping[str, int] | None) -> bytes | None:
    if at is not None:
        return payloads.taken(arena, at)
    if given is None:
        return None
    try:
        return base64.b64decode(given, validate=True)
    except binascii.Error:
        raise PayloadError("a payload inline is Base64") from None
