"""The kernel's end of one plugin process's wire: requests with their answers, and what the plugin asks."""

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from limnos.wire import frames
from limnos.wire.frames import Failure, Frame, FrameError, Notification, Reply, Request

MOST_UNSENT: Final = 4_000_000  # bytes that wait because the plugin does not read
MOST_FAULTS: Final = 20  # frames that could not be read, until it counts as broken
_WAIT_FOR_ROOM: Final = 1_000_000
_TOO_LONG: Final = f"it sent a frame of more than {frames.LIMIT:,} bytes"


class PluginLost(Exception):  # noqa: N818 - a state of the plugin, not of the caller
    """The process is gone, or its wire is broken; says why."""


class PluginRefused(Exception):  # noqa: N818 - the answer of the other side
    """The plugin answered a request with an error."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


class Serve(Protocol):
    """Does what the plugin asks or tells. Must return at once and not raise."""

    def __call__(self, connection: "Connection", frame: Request | Notification) -> None: ...


class Watchers(NamedTuple):
    """Who hears of a process: what it asks, its faults in words, and its end (once).

    `dropped` gets the results that nobody takes: what they name is to be given back.
    """

    serve: Serve
    fault: Callable[[str], object]
    lost: Callable[[str], object]
    dropped: Callable[[Any], object]


class Connection(asyncio.Protocol):
    """One wire."""

    def __init__(self, watchers: Watchers) -> None:
        self._serve = watchers.serve
        self._fault = watchers.fault
        self._lost = watchers.lost
        self._dropped = watchers.dropped
        self._transport: asyncio.Transport | None = None
        self._rest = bytearray()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 0
        self._faults = 0
        self._closed = ""

    @property
    def closed(self) -> str:
        """Why nothing can be sent any more; empty while it works."""
        return self._closed

    @property
    def waiting(self) -> int:
        """How many requests have no answer yet."""
        return len(self._waiting)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See `asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        begins = len(self._rest)
        self._rest += data
        if self._rest.find(b"\n", begins) >= 0:
            *lines, rest = bytes(self._rest).split(b"\n")
            self._rest = bytearray(rest)
            for line in lines:
                if line and not self._closed:
                    self._line(line)
        if len(self._rest) > frames.LIMIT and not self._closed:
            self.close(_TOO_LONG)

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        half = f" in the middle of a frame ({len(self._rest)} bytes)" if self._rest else ""
        self.close(f"it closed the wire{half}")

    def ask(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        """Send a request; the future gets the answer, PluginLost or PluginRefused.

        The caller sets the time limit. When the future is cancelled, an answer that comes later is dropped.
        Raises PluginLost and PluginRefused when nothing can be sent.
        """
        self._check_room()
        self._next += 1
        number = self._next
        asked: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        try:
            self._send(Request(number, method, params))
        except FrameError as error:
            raise PluginRefused(error.code, str(error)) from None
        if self._closed:
            raise PluginLost(self._closed)
        self._waiting[number] = asked
        return asked

    def late(self, asked: "asyncio.Future[Any]") -> "asyncio.Future[Any]":
        """Another future for the answer to a request whose future was cancelled."""
        again: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        numbers = [number for number, one in self._waiting.items() if one is asked]
        if numbers:
            self._waiting[numbers[0]] = again
        else:
            again.set_exception(PluginLost(self._closed or "it has answered already"))
        return again

    async def request(self, method: str, **params: Any) -> Any:
        """The plugin's answer; as `ask`."""
        return await self.ask(method, **params)

    def notify(self, method: str, **params: Any) -> None:
        """Tell the plugin something; a plugin that is gone hears nothing."""
        if not self._closed:
            self._send(Notification(method, params))

    def reply(self, request: Request, result: Any) -> None:
        """Answer a request of the plugin."""
        self._answer(request, Reply(request.id, result))

    def refuse(self, request: Request, code: int, message: str, hint: str = "") -> None:
        """Answer a request of the plugin with an error."""
        self._answer(request, Failure(request.id, code, message, hint))

    def close(self, why: str) -> None:
        """End the wire: who waits gets PluginLost. Only the first reason counts."""
        if self._closed:
            return
        self._closed = why
        if self._transport is not None:
            self._transport.abort()
        for asked in self._waiting.values():
            if not asked.done():
                asked.set_exception(PluginLost(why))
        self._waiting.clear()
        self._lost(why)

    def _line(self, line: bytes) -> None:
        try:
            frame = frames.decode(line)
        except FrameError as error:
            if error.code == frames.TOO_LARGE:
                self.close(_TOO_LONG)
                return
            self._note(f"it sent what is no frame: {error}")
            if not self._closed:
                self._send(Failure(None, error.code, str(error)))
            return
        if isinstance(frame, Request | Notification):
            self._serve(self, frame)
        else:
            self._settle(frame)

    def _settle(self, frame: Reply | Failure) -> None:
        asked = self._waiting.pop(frame.id, None) if isinstance(frame.id, int) else None
        if isinstance(frame, Reply) and (asked is None or asked.done()):
            self._dropped(frame.result)
        if asked is None:
            said = f": {frame.message}" if isinstance(frame, Failure) else ""
            self._note(f"it answered {frame.id!r}, which nobody asked{said}")
        elif asked.done():
            return  # nobody waits for it any more
        elif isinstance(frame, Failure):
            asked.set_exception(PluginRefused(frame.code, frame.message, frame.hint))
        else:
            asked.set_result(frame.result)

    def _note(self, fault: str) -> None:
        self._faults += 1
        self._fault(fault)
        if self._faults >= MOST_FAULTS:
            self.close(f"{MOST_FAULTS} faults on the wire, the last: {fault}")

    def _answer(self, request: Request, answer: Reply | Failure) -> None:
        if self._closed:
            return
        try:
            self._send(answer)
        except FrameError as error:
            self._send(Failure(request.id, error.code, str(error)))

    def _check_room(self) -> None:
        if self._closed:
            raise PluginLost(self._closed)
        if self._transport is not None and self._transport.get_write_buffer_size() > _WAIT_FOR_ROOM:
            raise PluginRefused(frames.UNAVAILABLE, "it does not read what it is sent", "try again later")

    def _send(self, frame: Frame) -> None:
        assert self._transport is not None
        self._transport.write(frames.encode(frame))
        if self._transport.get_write_buffer_size() > MOST_UNSENT:
            self.close("it does not read what it is sent")
