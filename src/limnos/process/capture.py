"""Runs a program to its end and keeps what it says, within bounds."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from limnos.process.spawn import ChildSpec, Drain, Leader, Streams, start_errors, start_leader


class Completed(NamedTuple):
    """How a program ended. `exit` is negative for a signal; `output` is stdout and stderr as they came.

    When `truncated`, the middle of the output is left out and a line says how much.
    """

    exit: int
    output: bytes
    truncated: bool
    timed_out: bool


class Bounded:
    """Keeps the first and the last half of `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if (excess := len(self._tail) - self._half) > 0:
            del self._tail[:excess]
            self._left_out += excess

    @property
    def truncated(self) -> bool:
        """Whether something is missing in the middle."""
        return self._left_out > 0

    def value(self) -> bytes:
        """Head and tail, with a line between them when something is left out."""
        if not self.truncated:
            return bytes(self._head + self._tail)
        return b"%b\n[... %d bytes left out ...]\n%b" % (self._head, self._left_out, self._tail)


async def run(
    spec: ChildSpec,
    *,
    timeout_s: float,
    max_bytes: int = 1_000_000,
    on_output: Callable[[bytes], None] | None = None,
    stdin: bytes = b"",
    grace_s: float = 2.0,
) -> Completed:
    """Run `spec` for at most `timeout_s` seconds and keep at most `max_bytes` of its output.

    `on_output` gets each piece as it comes, whole, and must not raise. After the time-out the group gets
    TERM, `grace_s` seconds, then KILL. When the awaiting task is cancelled the same happens before the
    cancellation goes on. Returns once the program itself has ended: what it left running is killed, and a
    pipe that somebody keeps open is not waited for. Raises `StartError`.
    """
    kept = Bounded(max_bytes)

    def take(data: bytes) -> None:
        kept.add(data)
        if on_output is not None:
            on_output(data)

    leader, drain = _start(spec, stdin, take)
    try:
        timed_out = await _over_time(leader, timeout_s)
    finally:
        try:
            status = await leader.stop(grace_s)
        finally:
            drain.finish()
    return Completed(status, kept.value(), kept.truncated, timed_out)


def _start(spec: ChildSpec, stdin: bytes, take: Callable[[bytes], None]) -> tuple[Leader, Drain]:
    with start_errors(spec), ExitStack() as undo:
        read, write = os.pipe()
        undo.callback(os.close, read)
        try:
            with _input(stdin) as source:
                leader = start_leader(spec, Streams(source, write, write))
        finally:
            os.close(write)
        undo.pop_all()
    return leader, Drain(read, take)


@contextmanager
def _input(data: bytes) -> Generator[int]:
    if not data:
        yield subprocess.DEVNULL
        return
    # a file cannot block: a program that never reads its input does not hold us up
    with tempfile.TemporaryFile() as source:
        source.write(data)
        source.seek(0)
        yield source.fileno()


async def _over_time(leader: Leader, timeout_s: float) -> bool:
    with suppress(TimeoutError):
        await leader.wait(timeout_s)
        return False
    return True
