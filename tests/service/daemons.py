"""A daemon in a thread of this process, and raw connections to it."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limnos.agent.settings import Environment
from limnos.service.client import Kernel
from limnos.service.daemon import Daemon
from limnos.service.place import Place, connected_socket
from limnos.service.remote import remote_kernel
from limnos.wire.frames import Failure, Frame, Notification, Reply, Request, decode, encode
from tests.service.house import House

SECONDS = 20.0


@dataclass
class Running:
    """A daemon that serves in a thread, so that a client may wait for it in another."""

    environment: Environment
    said: list[str] = field(default_factory=list[str])
    daemon: Daemon = field(init=False)
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _thread: threading.Thread = field(init=False)

    def start(self) -> None:
        ready, faults = threading.Event(), list[BaseException]()

        async def serve() -> None:
            self._loop = asyncio.get_running_loop()
            self.daemon = Daemon(self.environment, self.said.append)
            try:
                await self.daemon.serve(ready.set)
            finally:
                self.daemon.leave()

        def work() -> None:
            try:
                asyncio.run(serve())
            except (Exception, SystemExit) as error:  # noqa: BLE001 - told to the test
                faults.append(error)
                ready.set()

        self._thread = threading.Thread(target=work)
        self._thread.start()
        assert ready.wait(SECONDS)
        if faults:
            raise faults[0]

    def within(self, work: Any) -> Any:
        """Run a function in the daemon's loop."""
        done: list[Any] = []
        over = threading.Event()

        def act() -> None:
            done.append(work())
            over.set()

        self._loop.call_soon_threadsafe(act)
        assert over.wait(SECONDS)
        return done[0]

    def hang_up(self) -> None:
        """Cut every connection, as a network does."""
        writers = self.daemon._server._tasks.values()
        self.within(lambda: [writer.transport.abort() for writer in tuple(writers)])

    @property
    def place(self) -> Place:
        return self.daemon.place

    def kernel(self) -> Kernel:
        found = remote_kernel(self.environment.home, {})
        assert found is not None
        return found

    def refusals(self) -> str:
        path = self.place.refusals
        return path.read_text() if path.exists() else ""

    def end(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self.daemon.stopping.set)
            self._thread.join(SECONDS)
        assert not self._thread.is_alive()


@contextmanager
def daemon_of(house: House, *steps: dict[str, Any], **settings: object) -> Iterator[Running]:
    """A daemon whose model follows `steps`."""
    running = Running(house.environment(*steps, **settings))
    running.start()
    try:
        yield running
    finally:
        running.end()


class Raw:
    """A connection that says what it likes."""

    def __init__(self, place: Place) -> None:
        self._socket: socket.socket = connected_socket(place, SECONDS)
        self._file = self._socket.makefile("rb")
        self._number = 0

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self) -> Frame | None:
        """The next frame; None at the end."""
        try:
            line = self._file.readline()
        except ConnectionError:
            return None
        return decode(line) if line.endswith(b"\n") else None

    def ask(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Frame | None:
        """Send a request; the answer to it, past notifications."""
        self._number += 1
        self.send(encode(Request(self._number, method, {**(params or {}), **more})))
        while isinstance(frame := self.read(), Notification):
            pass
        return frame

    def hello(self, token: str, **more: Any) -> Frame | None:
        return self.ask("hello", {"token": token, "protocol": 1, **more})

    def result(self, method: str, **params: Any) -> Any:
        """The result of a call that must not fail."""
        frame = self.ask(method, params)
        assert isinstance(frame, Reply), frame
        return frame.result

    def failure(self, method: str, **params: Any) -> Failure:
        """The failure of a call that must not be done."""
        frame = self.ask(method, params)
        assert isinstance(frame, Failure), frame
        return frame

    def close(self) -> None:
        self._file.close()
        self._socket.close()


@contextmanager
def raw(running: Running, token: str | None = None) -> Iterator[Raw]:
    """A connection that has said hello with the person's token, or with another one."""
    connection = Raw(running.place)
    try:
        given = running.place.token.read_text() if token is None else token
        assert isinstance(connection.hello(given), Reply)
        yield connection
    finally:
        connection.close()


def opened(connection: Raw, work: Path, **how: Any) -> str:
    """Open a session; its id."""
    return str(connection.result("kernel.open", cwd=str(work), **how)["id"])
