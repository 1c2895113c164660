"""A real HTTP server on a loopback port that answers as it is told: the other end of the model providers.

It speaks just enough HTTP/1.1 to be wrong in every way that servers are wrong: it hangs, resets, closes
early, answers with any status and header, and cuts bodies into the network reads that a test asks for.
"""

import asyncio
import fcntl
import json
import socket
import struct
import termios
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias

Ending: TypeAlias = Literal["done", "early", "reset", "hang"]
SSE = {"content-type": "text/event-stream"}
JSON = {"content-type": "application/json"}
_MOST_TURNS = 100_000


@dataclass(frozen=True, slots=True)
class Answer:
    """One response. Each of `frames` is one HTTP chunk, so a client reads them one by one.

    `ends`: `done` closes the body, `early` closes the connection inside it, `reset` aborts the connection
    after the last byte, `hang` sends nothing more until the client goes away. `silent` hangs before the
    status line. `plain` sends a body without chunk frames and closes the connection after it.
    """

    frames: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: dict(SSE))
    ends: Ending = "done"
    silent: bool = False
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as it arrived; header names in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


Script: TypeAlias = Callable[[Recorded], Answer]


class ModelServer:
    """Serves a script: a sequence of answers, each used once, or a function from request to answer.

    A request beyond the script gets status 599; leaving the context raises AssertionError when that
    happened or when answers were left over, so a test can't pass by asking less or more than it says.
    """

    def __init__(self, script: Iterable[Answer] | Script = ()) -> None:
        self.requests: list[Recorded] = []
        self.connections = 0
        self._function = script if callable(script) else None
        self._left = [] if callable(script) else list(script)
        self._beyond = 0
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The loopback port it listens on."""
        assert self._server is not None, "enter the server first"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._open):
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        if kind is None:
            assert not self._beyond, f"{self._beyond} requests more than the script has answers"
            assert not self._left, f"{len(self._left)} answers of the script were never asked for"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                if not await _send(self._next(request), reader, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(task)
            writer.close()

    def _next(self, request: Recorded) -> Answer:
        if self._function is not None:
            return self._function(request)
        if self._left:
            return self._left.pop(0)
        self._beyond += 1
        return Answer(status=599, headers=JSON)


async def _read(reader: asyncio.StreamReader) -> Recorded | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Recorded(method, path, headers, body)


async def _send(answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Write `answer`; whether the connection can serve another request."""
    if answer.silent:
        await _until_gone(reader)
        return False
    headers = dict(answer.headers)
    if answer.plain:
        headers["connection"] = "close"
    else:
        headers["transfer-encoding"] = "chunked"
    head = f"HTTP/1.1 {answer.status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n"
    writer.write(head.encode("latin-1"))
    for frame in answer.frames:
        if frame:
            writer.write(frame if answer.plain else b"%x\r\n%b\r\n" % (len(frame), frame))
            await writer.drain()
    if answer.ends == "reset":
        await _reset(writer)
    elif answer.ends == "hang":
        await _until_gone(reader)
    elif answer.ends == "done" and not answer.plain:
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
    return False


async def _until_gone(reader: asyncio.StreamReader) -> None:
    while await reader.read(4096):
        pass


async def _reset(writer: asyncio.StreamWriter) -> None:
    """Abort the connection once the other side has every byte: a reset discards what is on its way."""
    writer.transport.set_write_buffer_limits(0)
    await writer.drain()
    sock: socket.socket = writer.get_extra_info("socket")
    for _ in range(_MOST_TURNS):
        if not _unacknowledged(sock):
            break
        await asyncio.sleep(0)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def _unacknowledged(sock: socket.socket) -> int:
    """Bytes that were sent and not yet received."""
    count: int = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, b"\0" * 4))[0]
    return count


def sse(*chunks: Mapping[str, Any], done: bool = True) -> bytes:
    """The body of a streamed reply made of `chunks`, with the end mark unless `done` is false."""
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk object whose only choice has the delta `fields`."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def text_answer(text: str, *, prompt_tokens: int = 5, completion_tokens: int = 2) -> Answer:
    """A whole streamed reply of `text`, word by word, with usage."""
    words = [delta(content=part) for part in text.split(" ")]
    for word in words[1:]:
        word["choices"][0]["delta"]["content"] = " " + word["choices"][0]["delta"]["content"]
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}
    return Answer([sse(*words, delta("stop"), {"choices": [], "usage": usage})])


def call_answer(name: str, arguments: Mapping[str, Any], call_id: str = "call_1") -> Answer:
    """A whole streamed reply of one call."""
    function = {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}
    call = {"index": 0, "id": call_id, "type": "function", "function": function}
    return Answer([sse(delta(tool_calls=[call]), delta("tool_calls"))])


def error_answer(status: int, message: str, **headers: str) -> Answer:
    """A JSON error as OpenAI-compatible servers send it; `retry_after` is the header `retry-after`."""
    body = json.dumps({"error": {"message": message}}).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([body], status=status, headers=JSON | named)
