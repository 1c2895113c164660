"""The control socket: who connects is known by uid and token, what they may do by their role."""

import asyncio
import os
import socket
import struct
from contextlib import suppress
from typing import Final, NamedTuple

from limnos.kernel.errors import LimnosError
from limnos.service.connection import Connection, Gone
from limnos.service.handling import Handling
from limnos.service.methods import METHODS, PROTOCOL, Hello, failure_of, read_params
from limnos.service.refusals import Refusals
from limnos.service.roles import Role, Roles
from limnos.wire.frames import (
    BAD_PARAMETERS,
    FAULT,
    FULL,
    INVALID,
    LIMIT,
    NO_METHOD,
    REFUSED,
    TOO_LARGE,
    Failure,
    FrameError,
    Reply,
    Request,
    decode,
)

MOST_CONNECTIONS: Final = 64
MOST_FAILURES: Final = 20  # hellos a second that are looked at once they fail
HELLO_SECONDS: Final = 5.0
MOST_BAD_FRAMES: Final = 100  # of one connection
_AGAIN: Final = "limnos down, then limnos up"


class Peer(NamedTuple):
    """The process at the other end, as the system says."""

    pid: int
    uid: int


class ControlServer:
    """Serves the clients of one daemon. `uid` is the only user who may connect."""

    def __init__(self, handling: Handling, roles: Roles, refusals: Refusals, uid: int) -> None:
        self._handling = handling
        self._roles = roles
        self._refusals = refusals
        self._uid = uid
        self._server: asyncio.Server | None = None
        self._tasks: dict[asyncio.Task[None], asyncio.StreamWriter] = {}
        self._failures: list[float] = []
        self._last = 0

    @property
    def connections(self) -> int:
        """How many are connected."""
        return len(self._tasks)

    async def start(self, listening: socket.socket) -> None:
        """Serve those who connect to `listening`."""
        self._server = await asyncio.start_unix_server(self._let_in, sock=listening, limit=LIMIT)

    def take_nobody(self) -> None:
        """Let nobody connect any more."""
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """Take nobody any more and end all connections."""
        self.take_nobody()
        await asyncio.sleep(0)  # who was just let in is in the table then
        tasks = dict(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in tasks.values():
            writer.transport.abort()  # of a task that was cancelled before it began, too
        await asyncio.sleep(0)

    def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._accept(reader, writer))
        self._tasks[task] = writer
        task.add_done_callback(self._tasks.pop)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._last += 1
        connection = Connection(self._last, writer)
        try:
            await self._serve(reader, connection)
        except (Gone, ConnectionError, asyncio.CancelledError):
            pass  # the client went, or the daemon ends: this task is nobody else's
        finally:
            await self._handling.leave(connection)
            await connection.close()

    async def _serve(self, reader: asyncio.StreamReader, connection: Connection) -> None:
        peer = _peer(connection.socket)
        connection.pid = peer.pid
        if peer.uid != self._uid:
            return await self._refuse(connection, "another user", f"uid {peer.uid} is not that of limnos")
        if len(self._tasks) > MOST_CONNECTIONS:
            return await self._refuse(
                connection, "too many connections", f"{MOST_CONNECTIONS} are there", FULL
            )
        if not await self._hello(reader, connection):
            return None
        bad = 0
        while bad < MOST_BAD_FRAMES:
            line = await self._line(reader, connection)
            if line is None:
                return None
            try:
                frame = decode(line)
            except FrameError as error:
                bad += 1
                self._note(connection, "malformed frame", detail=str(error))
                await connection.send(Failure(None, error.code, str(error)))
                continue
            if isinstance(frame, Request):
                await self._answer(connection, frame)
            else:
                bad += 1
                self._note(connection, "no request")
                await connection.send(Failure(None, INVALID, "a client sends requests"))
        return await self._refuse(connection, "too many malformed frames", "what came was no protocol")

    async def _line(self, reader: asyncio.StreamReader, connection: Connection) -> bytes | None:
        """The next line; None when there is none, or none that fits."""
        try:
            return await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            await self._refuse(
                connection, "frame too large", f"a frame has at most {LIMIT:,} bytes", TOO_LARGE
            )
            return None

    async def _hello(self, reader: asyncio.StreamReader, connection: Connection) -> bool:
        """Whether the other side is who it may be; its role is in the connection then."""
        now = asyncio.get_running_loop().time()
        self._failures = [moment for moment in self._failures if moment > now - 1]
        if len(self._failures) >= MOST_FAILURES:
            await self._refuse(connection, "too many failures", "try it again in a second", FULL)
            return False
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                line = await self._line(reader, connection)
        except TimeoutError:
            line = None
        if line is None:
            return False
        try:
            role, failure, client = self._role(line, connection.pid)
        except (FrameError, TypeError) as error:
            failure = Failure(None, INVALID, f"a connection begins with hello: {error}")
            role, client = None, ""
        if role is not None:
            connection.role, connection.client = role, client or connection.client
            self._handling.came(connection)
            await connection.send(
                Reply(failure.id or 0, {"protocol": PROTOCOL, "pid": os.getpid(), "role": str(role)})
            )
            return True
        self._failures.append(now)
        self._note(connection, failure.message)
        await connection.send(failure)
        return False

    def _role(self, line: bytes, pid: int) -> tuple[Role | None, Failure, str]:
        """The role of a hello, or why it is refused; which client it is. Raises FrameError and TypeError."""
        frame = decode(line)
        if not isinstance(frame, Request) or frame.method != Hello.type:
            return None, Failure(None, INVALID, "a connection begins with hello"), ""
        hello: Hello = read_params(Hello, frame.params, strict=True)
        if hello.protocol != PROTOCOL:
            what = f"this daemon speaks protocol {PROTOCOL}, not {hello.protocol}"
            return None, Failure(frame.id, REFUSED, what, _AGAIN), ""
        role = self._roles.of(hello.token)
        if role is None:
            return None, Failure(frame.id, REFUSED, "the token is not of this start", _AGAIN), ""
        if role.kind == "person" and _descends(pid, os.getpid()):
            return None, Failure(frame.id, REFUSED, "what limnos started is no person"), ""
        client = f"{role} {hello.client}" if hello.client else ""
        return role, Failure(frame.id, REFUSED, ""), client

    async def _answer(self, connection: Connection, request: Request) -> None:
        """Do what a request asks for; every one is answered."""
        method = METHODS.get(request.method)
        if method is None:
            self._note(connection, "unknown method", method=request.method)
            return await connection.send(Failure(request.id, NO_METHOD, f"no method {request.method[:60]}"))
        if connection.role.kind not in method.roles:
            self._note(connection, "not for this role", method=request.method)
            what = f"a {connection.role.kind} may not call {request.method}"
            return await connection.send(Failure(request.id, REFUSED, what))
        try:
            params = read_params(method.params, request.params)
        except TypeError as error:
            return await connection.send(Failure(request.id, BAD_PARAMETERS, str(error)))
        try:
            result = await self._handling.call(request.method, connection, params)
        except LimnosError as error:
            return await connection.send(failure_of(request.id, error))
        except (Gone, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - the border to clients: their request fails, the daemon lives
            self._note(connection, "a fault of limnos", method=request.method, detail=repr(error))
            return await connection.send(Failure(request.id, FAULT, f"limnos made a mistake: {error!r}"))
        if isinstance(result, Failure):
            self._note(connection, result.message, method=request.method)
            return await connection.send(result._replace(id=request.id))
        await connection.send(Reply(request.id, result))
        return await self._handling.after(connection)

    async def _refuse(self, connection: Connection, what: str, why: str, code: int = REFUSED) -> None:
        self._note(connection, what)
        with suppress(Gone, ConnectionError):
            await connection.send(Failure(None, code, why))

    def _note(self, connection: Connection, what: str, **more: str) -> None:
        self._refusals.note(what, connection.pid, str(connection.role), **more)


def _peer(connected: socket.socket) -> Peer:
    size = struct.calcsize("3i")
    pid, uid, _ = struct.unpack("3i", connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return Peer(pid, uid)


def _descends(pid: int, ancestor: int) -> bool:
    """Whether `pid` was started by `ancestor` or by something that it started."""
    for _ in range(100):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                pid = int(file.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if pid == ancestor:
            return True
        if pid <= 1:
            return False
    return False
