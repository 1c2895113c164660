"""The other end of a plugin's wire, for tests: plays limnos, keeps what it hears, waits with limits."""

import json
import select
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

from limnos.sdk.wire import RefusedError
from limnos.wire import frames
from limnos.wire.arena import Arena, ArenaFull, RangeError
from limnos.wire.frames import Failure, FrameError, Id, Notification, Reply, Request
from limnos.wire.methods import INLINE

_READ: Final = 1 << 18
PATIENCE_S: Final = 10.0
FLUSH_S: Final = 2.0

Answers: TypeAlias = Mapping[str, Any]


class NoAnswerError(AssertionError):
    """The plugin did not answer in time, or its wire closed; says which."""


class Peer:
    """Speaks frames over a socket; used by one thread, which reads and writes while it waits.

    `answers` has for each method that the plugin may ask the result, or a function of its parameters that
    returns it (or raises `RefusedError`). Anything else is refused as unavailable.
    """

    def __init__(self, wire: socket.socket, arena: Arena, answers: Answers) -> None:
        self.arena = arena
        self.heard: list[Notification] = []
        self.asked: list[Request] = []
        self.replies: dict[Id | None, list[Reply | Failure]] = {}
        self.faults: list[str] = []  # lines that are no frame
        self.closed = False
        self.shares = False  # whether the plugin said that it uses the arena
        self._wire = wire
        self._wire.setblocking(False)
        self._unsent = bytearray()
        self._rest = bytearray()
        self._next = 0
        self._answers: Mapping[str, Any] = {"arena.lease": self._lease, **answers}
        self._leases: dict[Id, int] = {}

    def fileno(self) -> int:
        """The descriptor of the wire."""
        return self._wire.fileno()

    def request(self, method: str, params: Mapping[str, Any]) -> int:
        """Send a request; returns its id."""
        self._next += 1
        self.raw(frames.encode(Request(self._next, method, params)))
        return self._next

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the plugin something."""
        self.raw(frames.encode(Notification(method, params)))

    def raw(self, data: bytes) -> None:
        """Send bytes as they are; they go out while something is waited for, or now if there is room."""
        self._unsent += data
        self._turn(0)

    def filled(self, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """The field `name`: the object, or a range of the arena when it is large and the plugin can that."""
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        if len(data) <= INLINE or not self.shares:
            return {name: dict(value)}
        return {f"{name}_at": self.arena.write(self.arena.lease(len(data)), data)}

    def text(self, given: Mapping[str, Any], name: str) -> str:
        """The text `name` of an answer, wherever it lies. Raises RangeError."""
        at = given.get(f"{name}_at")
        return str(given.get(name, "")) if at is None else self.taken(at).decode("utf-8", "replace")

    def taken(self, at: Any) -> bytes:
        """The bytes of a range, which is given back. Raises RangeError."""
        data = self.arena.copy(at)
        self.arena.release(at["lease"])
        return data

    def answer(self, number: Id, timeout_s: float = PATIENCE_S) -> Any:
        """The result of a request. Raises RefusedError, or NoAnswerError."""
        if not self.until(lambda: number in self.replies, timeout_s):
            why = "it closed the wire" if self.closed else f"nothing came in {timeout_s:g} s"
            raise NoAnswerError(f"no answer to request {number}: {why}")
        answer = self.replies[number][0]
        if isinstance(answer, Failure):
            raise RefusedError(answer.code, answer.message, answer.hint)
        return answer.result

    def until(self, true: Callable[[], bool], timeout_s: float = PATIENCE_S) -> bool:
        """Send, read and answer until something is true; false when the time is over or the wire closed."""
        end = time.monotonic() + timeout_s
        while not true():
            left = end - time.monotonic()
            if left <= 0 or self.closed:
                return true()
            self._turn(left)
        return True

    def finish_writing(self) -> None:
        """The plugin reads the end of its input; what it still says can be read."""
        self.until(lambda: not self._unsent, FLUSH_S)
        if not self.closed:
            self._wire.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the wire."""
        self.closed = True
        self._wire.close()

    def _turn(self, timeout_s: float) -> None:
        if self.closed:
            return
        writing = [self._wire] if self._unsent else []
        readable, writable, _ = select.select([self._wire], writing, [], timeout_s)
        try:
            if writable:
                del self._unsent[: self._wire.send(self._unsent)]
            if readable:
                self._take(self._wire.recv(_READ))
        except BlockingIOError:
            return
        except OSError:
            self.closed = True

    def _take(self, data: bytes) -> None:
        if not data:
            self.closed = True
            if self._rest:
                self.faults.append(f"a half frame at the end: {_shown(bytes(self._rest))}")
        self._rest += data
        *lines, rest = bytes(self._rest).split(b"\n") if b"\n" in data else [bytes(self._rest)]
        self._rest = bytearray(rest)
        for line in lines:
            self._line(line)

    def _line(self, line: bytes) -> None:
        try:
            frame = frames.decode(line)
        except FrameError as error:
            self.faults.append(f"{error}: {_shown(line)}")
            return
        match frame:
            case Notification():
                self._hear(frame)
            case Request():
                self.asked.append(frame)
                self._unsent += frames.encode(self._reply(frame))
            case Reply() | Failure():
                self.replies.setdefault(frame.id, []).append(frame)

    def _hear(self, told: Notification) -> None:
        self.heard.append(told)
        if told.method == "arena.release":
            self.arena.release(cast("int", told.params.get("lease")))

    def _reply(self, request: Request) -> Reply | Failure:
        prepared = self._answers.get(request.method)
        if prepared is None:
            return Failure(request.id, frames.UNAVAILABLE, f"no answer to {request.method} is prepared")
        try:
            return Reply(request.id, prepared(request.params) if callable(prepared) else prepared)
        except RefusedError as error:
            return Failure(request.id, error.code, str(error), error.hint)

    def _lease(self, params: Mapping[str, Any]) -> dict[str, int]:
        try:
            return self.arena.lease(cast("int", params.get("size"))).at()
        except ArenaFull as full:
            raise RefusedError(frames.FULL, full.what, full.fix) from None
        except RangeError as error:
            raise RefusedError(frames.BAD_PARAMETERS, str(error)) from None


def _shown(line: bytes) -> str:
    return repr(line[:80])
