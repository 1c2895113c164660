"""A supervised child that talks over its standard streams: plugins, the embedded model, parsers."""

import asyncio
import os
import socket
from collections import deque
from contextlib import ExitStack, suppress

from limnos.process.spawn import ChildSpec, Drain, Leader, Streams, start_errors, start_leader

_STDERR_KEPT = 8192
_LINE_LIMIT = 1 << 20


class Child:
    """A running child. `reader` is its standard output, `writer` its standard input.

    Both are one socket pair: it fills and drains without threads, and closing it is one call.
    """

    def __init__(self, leader: Leader, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._leader = leader
        self.reader = reader
        self.writer = writer
        self._stderr: deque[bytes] = deque()
        self._drain: Drain | None = None

    @property
    def pid(self) -> int:
        """The process id, which is the id of its group too."""
        return self._leader.pid

    @property
    def running(self) -> bool:
        """False as soon as its end is known."""
        return self._leader.running

    @property
    def stderr(self) -> str:
        """The last 8 KiB it wrote to standard error."""
        return b"".join(self._stderr)[-_STDERR_KEPT:].decode(errors="replace")

    async def wait(self, timeout_s: float | None = None) -> int:
        """The exit status; negative for the signal that ended it. Raises TimeoutError."""
        return await self._leader.wait(timeout_s)

    async def stop(self, grace_s: float = 2.0) -> int:
        """TERM to the group, `grace_s` seconds, KILL to the group; reaps, and gives back its streams.

        Returns the exit status. May be called twice.
        """
        try:
            return await self._leader.stop(grace_s)
        finally:
            if self._drain is not None:
                self._drain.finish()
            self.writer.close()
            with suppress(ConnectionError, BrokenPipeError):
                await self.writer.wait_closed()

    def follow_stderr(self, descriptor: int) -> None:
        """Keep the end of what comes out of `descriptor`."""
        self._drain = Drain(descriptor, self._keep)

    def _keep(self, data: bytes) -> None:
        self._stderr.append(data[-_STDERR_KEPT:])
        while sum(map(len, self._stderr)) - len(self._stderr[0]) > _STDERR_KEPT:
            self._stderr.popleft()


async def start(spec: ChildSpec) -> Child:
    """Start `spec` with its standard streams as a wire to us. Raises `StartError`.

    Lines of up to 1 MiB can be read from it. The caller must `stop` it.
    """
    leader, ours, err_read = _start(spec)
    try:
        reader, writer = await asyncio.open_connection(sock=ours, limit=_LINE_LIMIT)
    except BaseException:
        ours.close()
        os.close(err_read)
        await leader.stop(0)
        raise
    child = Child(leader, reader, writer)
    child.follow_stderr(err_read)
    return child


def _start(spec: ChildSpec) -> tuple[Leader, socket.socket, int]:
    """The running program, our end of its standard input and output, and that of its standard error."""
    with start_errors(spec), ExitStack() as undo:
        ours, theirs = socket.socketpair()
        undo.callback(ours.close)
        with theirs:
            err_read, err_write = os.pipe()
            undo.callback(os.close, err_read)
            try:
                leader = start_leader(spec, Streams(theirs.fileno(), theirs.fileno(), err_write))
            finally:
                os.close(err_write)
        undo.pop_all()
    return leader, ours, err_read
