"""A connection's bytes, handed to the HTTP parser so that what comes behind an answer is noticed.

The parser keeps what it was given too much and takes it for the beginning of the next answer. A head, and a
body in chunks, end with a blank line: no piece reaches beyond one. A counted body tells by its count, see
`client.Response.check_leftovers`.
"""

import asyncio
import re
import select
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from limnos import lazy

_BLANK_LINE = re.compile(rb"\n\r?\n")
_READ = 65_536
# An answer with more blank lines costs its connection, not the processor: each piece takes some 20 µs.
_MOST_PIECES = 4096


class _Counting(asyncio.StreamReaderProtocol):
    """Counts the bytes that came, read or not."""

    received = 0

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        self.received += len(data)
        super().data_received(data)


class Stream:
    """A network stream of httpcore2, by shape; `delivered` is how many bytes the parser got from it."""

    def __init__(
        self, transport: asyncio.Transport, protocol: _Counting, reader: asyncio.StreamReader
    ) -> None:
        self._protocol = protocol
        self._reader = reader
        self._writer = asyncio.StreamWriter(transport, protocol, reader, asyncio.get_running_loop())
        self._buffer: bytes = b""
        self._position = 0
        self._search_from = 0  # where in the buffer the next blank line may begin: its end may still come
        self._pieces = 0
        self._retired = False
        self.delivered = 0

    def retire(self) -> None:
        """Have the pool not use this connection again."""
        self._retired = True

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """The next bytes, of one answer only; empty when the other side has closed."""
        if self._position == len(self._buffer):
            with _translated(lazy.httpcore2.ReadError, lazy.httpcore2.ReadTimeout):
                async with asyncio.timeout(timeout):
                    fresh = await self._reader.read(min(max_bytes, _READ))
            tail = self._buffer[self._search_from :]
            self._buffer, self._position, self._search_from = tail + fresh, len(tail), 0
        begin, self._position = self._position, self._piece_end()
        self.delivered += self._position - begin
        return self._buffer[begin : self._position]

    def _piece_end(self) -> int:
        blank_line = None if self._retired else _BLANK_LINE.search(self._buffer, self._search_from)
        if blank_line is None:
            self._search_from = max(self._search_from, len(self._buffer) - 2)
            return len(self._buffer)
        self._pieces += 1
        self._retired = self._pieces > _MOST_PIECES
        self._search_from = blank_line.end()
        return self._search_from

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send `buffer`, a piece of the next request; returns when the network took most of it."""
        self._pieces = 0
        with _translated(lazy.httpcore2.WriteError, lazy.httpcore2.WriteTimeout):
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()

    async def aclose(self) -> None:
        """Let go of the connection; what the other side still says is not waited for."""
        self._writer.transport.abort()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "Stream":
        """Speak TLS from now on."""
        try:
            with _translated(lazy.httpcore2.ConnectError, lazy.httpcore2.ConnectTimeout):
                async with asyncio.timeout(timeout):
                    await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except BaseException:
            await self.aclose()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        """`is_readable` is how the pool asks whether an idle connection is of no more use."""
        if info != "is_readable":
            return self._writer.get_extra_info(info)
        return (
            self._retired
            or self._protocol.received > self.delivered
            or self._has_ended()
            or self._has_unread()
        )

    def _has_ended(self) -> bool:
        return self._reader.at_eof() or self._reader.exception() is not None or self._writer.is_closing()

    def _has_unread(self) -> bool:
        """Whether the system knows of something that the event loop has not looked at yet."""
        poll = select.poll()
        poll.register(self._writer.get_extra_info("socket"), select.POLLIN)
        return bool(poll.poll(0))


async def connect(address: str, port: int, timeout: float | None) -> Stream:
    """A stream to a numeric `address`. Raises httpcore2's ConnectError or ConnectTimeout."""
    reader = asyncio.StreamReader(_READ)
    with _translated(lazy.httpcore2.ConnectError, lazy.httpcore2.ConnectTimeout):
        async with asyncio.timeout(timeout):
            transport, protocol = await asyncio.get_running_loop().create_connection(
                lambda: _Counting(reader), address, port
            )
    return Stream(transport, protocol, reader)


@contextmanager
def _translated(broken: type[Exception], late: type[Exception]) -> Generator[None]:
    """Turn the system's exceptions into the HTTP client's; `error.args[0]` is the system's own."""
    try:
        yield
    except TimeoutError:
        raise late from None
    except OSError as error:
        raise broken(error) from None
