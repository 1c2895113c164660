"""The daemon: one kernel that holds a home and serves whoever connects. `python -m limnos.service.daemon`."""

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from limnos.agent.clock import SystemClock
from limnos.agent.settings import Environment, load, read_environment
from limnos.kernel.errors import LimnosError, UsageError
from limnos.process.privacy import keep_private
from limnos.service.handling import Handling
from limnos.service.local import LocalKernel
from limnos.service.log import DaemonLog
from limnos.service.place import Place, listening_socket, prepare
from limnos.service.refusals import Refusals
from limnos.service.roles import Nonces, Roles
from limnos.service.socket import ControlServer
from limnos.store.whole import private_folder, storage_error

CLOSE_SECONDS: Final = 20.0
_LOCK: Final = "hhqqi"  # struct flock of fcntl(2) where offsets have 64 bits


def holder(place: Place) -> int:
    """The process that holds this home as its daemon, as the system says; 0 when none does."""
    try:
        descriptor = os.open(place.pid, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        asked = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, *_, pid = struct.unpack(_LOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked)[: len(asked)])
    except OSError:
        return 0
    finally:
        os.close(descriptor)
    return 0 if kind == fcntl.F_UNLCK else int(pid)


class Daemon:
    """Everything that lives as long as the daemon. `roles` gives plugins tokens of their own."""

    def __init__(self, environment: Environment, say: Callable[[str], None]) -> None:
        """Take the home. Raises UsageError when another daemon holds it, StorageError, SettingsError."""
        settings = load(environment)
        self.place = Place(environment.home)
        self._say = say
        self._lock = _locked(self.place)
        clock = SystemClock()
        self.stopping = asyncio.Event()
        self.kernel = LocalKernel(settings, environment)
        self.roles = Roles(prepare(self.place))
        self._handling = Handling(
            self.kernel,
            Nonces(clock.monotonic),
            clock.now(),
            reload=lambda: self.kernel.use(load(environment)),
            stop=self.stopping.set,
            connected=lambda: self._server.connections,
        )
        refusals = Refusals(self.place.refusals, clock.now)
        self._server = ControlServer(self._handling, self.roles, refusals, os.getuid())

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until `stopping` is set, then end what runs within a limit."""
        await self._server.start(listening_socket(self.place))
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        self._say(f"ready, process {os.getpid()}, {self.place.socket}")
        ready()
        self.kernel.begin_plugins(daemon=True)
        await self.stopping.wait()
        self._say("stopping")
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                self._server.take_nobody()
                await self._handling.rooms.close()
                await self._handling.drain()
                await self._server.close()
                await self.kernel.close()
        except TimeoutError:
            self._say(f"something did not end within {CLOSE_SECONDS:g} s and was left")
        self._say("stopped")

    def leave(self) -> None:
        """Give the home back."""
        for path in (self.place.socket, self.place.token):
            with contextlib.suppress(OSError):
                path.unlink()
        with contextlib.suppress(OSError):
            os.ftruncate(self._lock, 0)
        os.close(self._lock)


def _locked(place: Place) -> int:
    """A descriptor of the pid file whose lock says that this process holds the home."""
    try:
        private_folder(place.folder)
        descriptor = os.open(place.pid, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise storage_error(place.pid, error, "try again") from None
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise UsageError(
            f"a daemon holds this home already: process {holder(place)}", "limnos status, or limnos down"
        ) from None
    os.ftruncate(descriptor, 0)
    return descriptor


async def run(environment: Environment, say: Callable[[str], None]) -> None:
    """Be the daemon of this home until a signal or a client ends it. Raises LimnosError."""
    daemon = Daemon(environment, say)
    loop = asyncio.get_running_loop()
    ends = (signal.SIGTERM, signal.SIGINT)
    for number in ends:
        loop.add_signal_handler(number, daemon.stopping.set)
    loop.add_signal_handler(signal.SIGHUP, partial(say, "a terminal was closed; going on"))
    loop.set_exception_handler(
        lambda _, context: say(f"fault: {context.get('exception') or context['message']}")
    )
    try:
        await daemon.serve(lambda: None)
    finally:
        daemon.leave()


def main() -> None:
    """Run detached, with a log for what there is to say."""
    keep_private()
    environment = read_environment()
    log = DaemonLog(Place(environment.home).log, SystemClock().now)
    try:
        asyncio.run(run(environment, log.say))
    except LimnosError as error:
        log.say(f"error: {error.what}  fix: {error.fix}")
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
