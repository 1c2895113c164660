"""A connection to the daemon that waits for each answer: what a call of the typed client stands on."""

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from limnos.kernel.errors import LimnosError
from limnos.service.methods import NOT_OPEN, PROTOCOL, error_of
from limnos.service.parts import Joiner
from limnos.service.place import Place, connected_socket
from limnos.wire.frames import LIMIT, REFUSED, TOO_LARGE, Failure, FrameError, Reply, Request, decode, encode

CONNECT_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 30.0
GONE: Final = "the daemon does not answer"
GONE_FIX: Final = "limnos status; limnos up starts it again"


class LostError(LimnosError):
    """The connection to the daemon is lost, or there is no daemon."""


class NotOpenError(LimnosError):
    """The daemon has not opened this session: it was started anew."""


class RefusedError(LimnosError):
    """The daemon does not let this client do that."""


def hello(place: Place, client: str = "") -> bytes:
    """The first line of a connection of `client`. Raises LostError when there is no token."""
    try:
        token = place.token.read_text()
    except OSError as error:
        raise LostError(f"{place.token} cannot be read: {error.strerror}", GONE_FIX) from None
    return encode(Request(0, "hello", {"token": token, "protocol": PROTOCOL, "client": client}))


def error_for(failure: Failure) -> LimnosError:
    """The error that a failure of the daemon stands for."""
    if failure.code == NOT_OPEN:
        return NotOpenError(failure.message, "limnos sessions")
    if failure.code == REFUSED:
        return RefusedError(f"the daemon refused it: {failure.message}", failure.hint or GONE_FIX)
    return error_of(failure)


class Link:
    """One connection, opened at the first call and again when it was lost. May be used by several threads."""

    def __init__(self, place: Place, client: str = "", answer_seconds: float = ANSWER_SECONDS) -> None:
        self._place = place
        self._client = client
        self._seconds = answer_seconds
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._buffer = b""
        self._number = 0
        self.daemon = 0

    def connect(self) -> None:
        """Connect if it is not. Raises LostError, and RefusedError for what speaks another protocol."""
        with self._lock:
            self._connect()

    def call(self, method: str, params: Mapping[str, Any], *, again: bool = True) -> Any:
        """The result of a method. Raises LostError, or the error that the daemon answered with.

        When the connection was lost it is called once more, unless `again` says that this would do it twice.
        """
        with self._lock:
            for last in (False, True):
                try:
                    self._connect()
                    return self._ask(method, params)
                except LostError:
                    self._hang_up()
                    if last or not again:
                        raise
        raise AssertionError("not reached")

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._hang_up()

    def _connect(self) -> None:
        if self._socket is not None:
            return
        try:
            self._socket = connected_socket(self._place, CONNECT_SECONDS)
            self._socket.settimeout(self._seconds)
            self._socket.sendall(hello(self._place, self._client))
        except OSError as error:
            self._hang_up()
            raise LostError(f"{GONE}: {error.strerror or error}", GONE_FIX) from None
        self._buffer = b""
        welcome = self._reply(0)
        self.daemon = int(welcome["pid"])

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        assert self._socket is not None
        self._number += 1
        try:
            line = encode(Request(self._number, method, params))
        except FrameError as error:
            fix = "put it into a file and name the file" if error.code == TOO_LARGE else "say it differently"
            raise LimnosError(f"this cannot go to the daemon: {error}", fix) from None
        try:
            self._socket.sendall(line)
        except OSError as error:
            raise LostError(f"{GONE}: {error.strerror or error}", GONE_FIX) from None
        return self._reply(self._number)

    def _reply(self, number: int) -> Any:
        joiner = Joiner()
        while True:
            try:
                frame = joiner.feed(decode(self._line()))
            except FrameError as error:
                raise LostError(f"the daemon said something else: {error}", GONE_FIX) from None
            match frame:
                case Reply() if frame.id == number:
                    return frame.result
                case Failure() if frame.id in (number, None):
                    raise error_for(frame)
                case _:
                    continue

    def _line(self) -> bytes:
        assert self._socket is not None
        while (end := self._buffer.find(b"\n")) < 0:
            if len(self._buffer) > LIMIT:
                raise LostError("the daemon said something too large", GONE_FIX)
            try:
                data = self._socket.recv(1 << 16)
            except OSError as error:
                raise LostError(f"{GONE}: {error.strerror or error}", GONE_FIX) from None
            if not data:
                raise LostError(f"{GONE}: it hung up", GONE_FIX)
            self._buffer += data
        line, self._buffer = self._buffer[: end + 1], self._buffer[end + 1 :]
        return line

    def _hang_up(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
        self._socket = None
