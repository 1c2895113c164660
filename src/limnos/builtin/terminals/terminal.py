"""One terminal: a program on the other side of a pseudo-terminal, and the newest of what it showed."""

import asyncio
import codecs
import fcntl
import os
import pty
import struct
import termios
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import NamedTuple

from limnos.sdk.programs import ChildSpec, Leader, Streams, start_errors, start_leader

MAX_KEPT = 1_000_000  # bytes, the newest
GRACE_S = 2.0
QUIET_S = 0.15  # after so long without a word a program has said what it wants to say
COLUMNS, ROWS = 80, 24
_READ = 65536


class Shown(NamedTuple):
    """What came since the last look; `skipped` bytes of it are gone. `exit` once its program has ended."""

    text: str
    skipped: int
    running: bool
    exit: int | None


class Terminal:
    """A running program with its terminal; `close` gives everything back."""

    def __init__(self, entering: AbstractContextManager[ChildSpec], command: str) -> None:
        """Start it inside the running loop. Raises StartError."""
        self.command = command
        self.exit: int | None = None
        self._kept = bytearray()
        self._shown = self._seen = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._news = asyncio.Event()
        self._held = ExitStack()
        self._loop = asyncio.get_running_loop()
        self._reading = True
        try:
            self._leader, self._master = _started(self._held.enter_context(entering))
        except BaseException:
            self._held.close()
            raise
        os.set_blocking(self._master, False)
        self._loop.add_reader(self._master, self._read)
        self.ending = asyncio.create_task(self._follow())

    @property
    def running(self) -> bool:
        """Whether its program still runs."""
        return self.exit is None

    async def shown(self, wait_s: float) -> Shown:
        """What is new; waits up to `wait_s` seconds for something, and until the program is quiet."""
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                if self._seen == self._shown and self.running:
                    await self._news.wait()
                while self.running:
                    self._news.clear()
                    await asyncio.wait_for(self._news.wait(), QUIET_S)
        return self._fresh()

    async def write(self, data: bytes, within_s: float) -> int:
        """Type `data`; returns how many bytes the program took in `within_s` seconds."""
        left = memoryview(data)
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(within_s):
                while left and self.running:
                    with suppress(BlockingIOError):
                        left = left[os.write(self._master, left) :]
                        continue
                    await self._writable()
        return len(data) - len(left)

    def resize(self, columns: int, rows: int) -> None:
        """Give it another size; its program is told by the system."""
        if self._reading:
            _resize(self._master, columns, rows)

    async def close(self) -> None:
        """Hang up, and end the program with all it started."""
        self._hang_up()
        await self._leader.stop(GRACE_S)
        await asyncio.wait({self.ending}, timeout=GRACE_S)

    async def _follow(self) -> None:
        try:
            self.exit = await self._leader.wait()
        finally:
            while self._reading and self._read():
                pass
            self._hang_up()
            self._held.close()
            self._news.set()

    async def _writable(self) -> None:
        free = self._loop.create_future()
        self._loop.add_writer(self._master, lambda: free.done() or free.set_result(None))
        try:
            await free
        finally:
            self._loop.remove_writer(self._master)

    def _read(self) -> bool:
        try:
            data = os.read(self._master, _READ)
        except BlockingIOError:
            return False
        except OSError:  # nobody holds the other end any more
            data = b""
        if not data:
            self._loop.remove_reader(self._master)
            return False
        self._kept += data
        self._shown += len(data)
        if (excess := len(self._kept) - MAX_KEPT) > 0:
            del self._kept[:excess]
        self._news.set()
        return True

    def _hang_up(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._master)
            os.close(self._master)

    def _fresh(self) -> Shown:
        begins = self._shown - len(self._kept)
        skipped = max(0, begins - self._seen)
        if skipped:
            self._decoder.reset()
        data = bytes(self._kept[max(0, self._seen - begins) :])
        self._seen = self._shown
        self._news.clear()
        text = self._decoder.decode(data, final=not self.running)
        return Shown(text, skipped, self.running, self.exit)


def _started(spec: ChildSpec) -> tuple[Leader, int]:
    """The running program, and our end of its terminal."""
    with start_errors(spec):
        master, slave = pty.openpty()
    try:
        _resize(master, COLUMNS, ROWS)
        return start_leader(spec, Streams(slave, slave, slave)), master
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)


def _resize(terminal: int, columns: int, rows: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
