"""A kernel in a daemon, behind the same door as one in this process."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, Final, Literal

from limnos.kernel.errors import LimnosError
from limnos.kernel.event_records import from_record
from limnos.kernel.events import Event
from limnos.kernel.seams import Answer
from limnos.kernel.window_view import ColdUnit, WindowPart, WindowUnit, WindowView
from limnos.service.client import (
    DaemonState,
    Job,
    Kernel,
    OpenRequest,
    PluginState,
    Send,
    Session,
    SessionSummary,
    Undone,
)
from limnos.service.link import (
    CONNECT_SECONDS,
    GONE,
    GONE_FIX,
    Link,
    LostError,
    NotOpenError,
    RefusedError,
    error_for,
    hello,
)
from limnos.service.methods import error_of
from limnos.service.parts import Joiner
from limnos.service.place import Place, connected_socket
from limnos.wire.frames import LIMIT, Failure, Frame, FrameError, Notification, Reply, Request, decode, encode

RECONNECT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.1


def remote_kernel(home: Path, given: Mapping[str, Any]) -> Kernel | None:
    """The kernel of the daemon that holds this home; None when none does.

    `given` are fields of an OpenRequest that hold where it says nothing. Raises LostError for a daemon that
    does not answer in time, RefusedError for one that lets nobody in.
    """
    place = Place(home)
    client = secrets.token_hex(8)
    link = Link(place, client)
    try:
        probe = connected_socket(place, 2.0)
    except OSError:
        return None
    probe.close()
    link.connect()
    return RemoteKernel(place, client, link, given)


class _BehindError(Exception):
    """The daemon does not keep what this reader has not read."""


class RemoteSession:
    """Implements `service.client.Session` over the control socket."""

    def __init__(self, kernel: "RemoteKernel", state: dict[str, Any], how: OpenRequest) -> None:
        self._kernel = kernel
        self._id = str(state["id"])
        self._path = str(state["path"])
        self._how = how._replace(session=self._id)
        self._known: dict[str, Any] = {}
        self._nonces: dict[str, str] = {}
        self._closed = False

    @property
    def id(self) -> str:
        """See `Session`."""
        return self._id

    @property
    def path(self) -> str:
        """See `Session`."""
        return self._path

    @property
    def last_seq(self) -> int:
        """See `Session`."""
        return int(self._call("session.state")["last_seq"])

    @property
    def interrupted(self) -> bool:
        """See `Session`."""
        return bool(self._call("session.state")["interrupted"])

    async def history(self, *, settled: bool = False) -> Sequence[Event]:
        """See `Session`."""
        records = await self._call_slowly("session.history", settled=settled)
        return [event for record in records if (event := from_record(record)) is not None]

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """See `Session`. Goes on where it was when the connection was lost, or this reader was too slow.

        Raises LostError when the daemon is gone for good, or came back with the turn interrupted.
        """
        last = after
        while True:
            try:
                async with aclosing(self._subscribed(last)) as events:
                    async for event in events:
                        last = event.seq
                        yield event
            except _BehindError:
                continue
            except (LostError, NotOpenError, OSError):
                if self._closed:
                    return
                await self._back()
            else:
                return

    async def _subscribed(self, after: int) -> AsyncGenerator[Event]:
        """The events of one subscription, each with its number above `after`."""
        connected = await asyncio.to_thread(connected_socket, self._kernel.place, 2.0)
        connected.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connected, limit=LIMIT)
        try:
            writer.write(hello(self._kernel.place, self._kernel.client))
            ask = Request(1, "session.events", {"session": self._id, "after": after})
            writer.write(encode(ask))
            joiner = Joiner()
            async with asyncio.timeout(CONNECT_SECONDS):
                welcome = decode(await _line(reader))
            if not isinstance(welcome, Reply):
                raise _error(welcome)
            while True:
                frame = joiner.feed(decode(await _line(reader)))
                if frame is None or isinstance(frame, Reply):
                    continue
                if not isinstance(frame, Notification):
                    raise _error(frame)
                if frame.method == "events.end":
                    _end(frame)
                    return
                event = self._heard(frame)
                if event is not None:
                    yield event
        except FrameError as error:
            raise LostError(f"the daemon said something else: {error}", GONE_FIX) from None
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _heard(self, told: Notification) -> Event | None:
        event = from_record(told.params["event"])
        nonce = told.params.get("nonce")
        approval = getattr(event, "approval", "")
        if nonce and approval:
            self._nonces[approval] = str(nonce)
        return event

    async def _back(self) -> None:
        """Wait until the daemon is there again and has this session open."""
        before = self._kernel.process
        try:
            async with asyncio.timeout(RECONNECT_SECONDS):
                while True:
                    with suppress(LostError, RefusedError):
                        await asyncio.to_thread(self._kernel.reopen, self._how)
                        break
                    await asyncio.sleep(_PAUSE_SECONDS)
        except TimeoutError:
            raise LostError(f"{GONE}: it ended", f"limnos open {self._id} goes on") from None
        if self._kernel.process != before and self.interrupted:
            raise LostError("the daemon was started anew in mid-turn", f"limnos run --continue {self._id}")

    def send(self, message: Send) -> None:
        """See `Session`."""
        self._call("session.send", **_input(message))

    def inject(self, message: Send) -> None:
        """See `Session`."""
        self._call("session.inject", **_input(message))

    def resume(self, source: str = "cli") -> None:
        """See `Session`."""
        self._call("session.resume", source=source)

    def stop(self, reason: Literal["stopped", "terminated"] = "stopped") -> None:
        """See `Session`."""
        with suppress(LostError):
            self._call("session.stop", again=False, reason=reason)

    def answer(self, approval: str, answer: Answer) -> bool:
        """See `Session`."""
        nonce = self._nonces.pop(approval, "")
        given = {name: value for name, value in answer._asdict().items() if name != "principal"}
        try:
            return bool(self._call("session.answer", again=False, approval=approval, nonce=nonce, **given))
        except RefusedError:
            return False

    def queued(self) -> list[Send]:
        """See `Session`."""
        return [Send(*message) for message in self._last_known("session.queued")]

    def injected(self) -> list[Send]:
        """See `Session`."""
        return [Send(*message) for message in self._last_known("session.injected")]

    def drop(self, position: int) -> Send | None:
        """See `Session`."""
        dropped = self._call("session.drop", again=False, position=position)
        return None if dropped is None else Send(*dropped)

    def jobs(self) -> list[Job]:
        """See `Session`."""
        return [Job(*job) for job in self._last_known("session.jobs")]

    async def stop_job(self, name: str) -> None:
        """See `Session`."""
        await self._call_slowly("session.stop_job", name=name)

    async def undo(self) -> Undone | None:
        """See `Session`."""
        undone = await self._call_slowly("session.undo", again=False)
        return None if undone is None else Undone(*undone)

    def window(self) -> WindowView:
        """See `Session`."""
        view = self._call("session.window")
        view["parts"] = tuple(WindowPart(*part) for part in view["parts"])
        return WindowView(**(view | {"units": tuple(WindowUnit(*unit) for unit in view["units"])}))

    def pin(self, unit: str, *, pinned: bool = True) -> None:
        """See `Session`."""
        self._call("session.pin", unit=unit, pinned=pinned)

    async def cold(self, text: str = "") -> Sequence[ColdUnit]:
        """See `Session`."""
        return [ColdUnit(*unit) for unit in await self._call_slowly("session.cold", text=text)]

    async def recall(self, units: Sequence[str]) -> None:
        """See `Session`."""
        await self._call_slowly("session.recall", units=list(units))

    async def close(self) -> None:
        """See `Session`. A turn that runs goes on in the daemon, and can be watched again."""
        self._closed = True
        with suppress(LostError, NotOpenError):
            await self._call_slowly("session.close")

    def _call(self, method: str, *, again: bool = True, **params: Any) -> Any:
        return self._kernel.call(method, {"session": self._id, **params}, self._how, again=again)

    async def _call_slowly(self, method: str, *, again: bool = True, **params: Any) -> Any:
        given = {"session": self._id, **params}
        return await asyncio.to_thread(self._kernel.call_slowly, method, given, again=again)

    def _last_known(self, method: str) -> Any:
        """What a method says, or said last where the connection is lost: a screen is drawn with it."""
        with suppress(LostError, NotOpenError):
            self._known[method] = self._call(method)
        return self._known.get(method, [])


class RemoteKernel:
    """Implements `service.client.Kernel` over the control socket.

    Calls that return at once have a connection of their own, so that none waits for one that takes long.
    """

    def __init__(self, place: Place, client: str, link: Link, given: Mapping[str, Any]) -> None:
        self.place = place
        self.client = client
        self._given = given
        self._link = link
        self._slow = Link(place, client, answer_seconds=600.0)

    @property
    def process(self) -> int:
        """The daemon that was spoken to last."""
        return self._link.daemon

    def call(
        self, method: str, params: dict[str, Any], how: OpenRequest | None = None, *, again: bool = True
    ) -> Any:
        """Call a method that answers at once; a session that the daemon does not know is opened again."""
        try:
            return self._link.call(method, params, again=again)
        except NotOpenError:
            if how is None or not again:
                raise
        self.reopen(how)
        return self._link.call(method, params)

    def call_slowly(self, method: str, params: dict[str, Any], *, again: bool = True) -> Any:
        """Call a method that may take long, in a thread."""
        return self._slow.call(method, params, again=again)

    def reopen(self, how: OpenRequest) -> dict[str, Any]:
        """Open a session in a daemon that was started anew."""
        self._link.call("daemon.status", {})
        return self._slow.call("kernel.open", how._asdict())

    async def open(self, how: OpenRequest) -> Session:
        """See `Kernel`."""
        told = {name: value for name, value in self._given.items() if getattr(how, name) is None}
        how = how._replace(fallback=os.getcwd(), **told)
        state = await asyncio.to_thread(self._slow.call, "kernel.open", how._asdict())
        return RemoteSession(self, state, how)

    def sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """See `Kernel`."""
        return [SessionSummary(*row) for row in self.call("kernel.sessions", {"limit": limit})]

    def newest_in(self, folder: str) -> SessionSummary | None:
        """See `Kernel`."""
        found = self.call("kernel.newest_in", {"folder": folder})
        return None if found is None else SessionSummary(*found)

    def path(self, session: str) -> str:
        """See `Kernel`."""
        return str(self.call("kernel.path", {"session": session}))

    def fork(self, session: str, seq: int | None = None) -> str:
        """See `Kernel`."""
        return str(self.call("kernel.fork", {"session": session, "seq": seq}, again=False))

    def rename(self, session: str, title: str) -> None:
        """See `Kernel`."""
        self.call("kernel.rename", {"session": session, "title": title})

    def export(self, session: str, form: Literal["markdown", "openai"]) -> str:
        """See `Kernel`."""
        return str(self.call("kernel.export", {"session": session, "form": form}))

    def plugins(self) -> list[PluginState]:
        """See `Kernel`."""
        return [PluginState(*row) for row in self.call("kernel.plugins", {})]

    async def renew_plugins(self) -> None:
        """See `Kernel`."""
        await asyncio.to_thread(self._slow.call, "kernel.renew_plugins", {})

    async def restart_plugin(self, name: str) -> None:
        """See `Kernel`."""
        await asyncio.to_thread(self._slow.call, "kernel.restart_plugin", {"name": name})

    async def stop_plugin(self, name: str) -> None:
        """See `Kernel`."""
        await asyncio.to_thread(self._slow.call, "kernel.stop_plugin", {"name": name})

    def daemon(self) -> DaemonState | None:
        """See `Kernel`."""
        return DaemonState(**self.call("daemon.status", {}))

    def stop_daemon(self) -> None:
        """Ask the daemon to end; returns before it has."""
        self.call("daemon.stop", {}, again=False)

    async def close(self) -> None:
        """Hang up. The daemon and its sessions stay."""
        await asyncio.to_thread(self._slow.close)
        self._link.close()


def _input(message: Send) -> dict[str, Any]:
    return {name: value for name, value in message._asdict().items() if name != "principal"}


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        raise LostError(f"{GONE}: it hung up", GONE_FIX) from None


def _error(frame: Frame) -> LimnosError:
    return error_for(frame) if isinstance(frame, Failure) else LostError(GONE, GONE_FIX)


def _end(frame: Notification) -> None:
    """What the end of a subscription means. Raises the fault that ended it."""
    match frame.params.get("reason"):
        case "resync":
            raise _BehindError
        case "failed":
            raise error_of(
                Failure(None, int(frame.params["code"]), str(frame.params["what"]), str(frame.params["fix"]))
            )
        case _:
            return
