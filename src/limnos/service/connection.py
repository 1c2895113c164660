"""One connection of the control socket, as the server sees it."""

import asyncio
import socket
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Final

from limnos.service.parts import lines_of
from limnos.service.roles import Role
from limnos.wire.frames import Failure, Notification, Reply

WRITE_SECONDS: Final = 30.0  # a client that takes nothing for so long is gone


class Gone(Exception):  # noqa: N818 - the other side went, which is no fault
    """The client takes nothing any more."""


class Connection:
    """Writes frames whole, one after the other, and knows who is at the other end."""

    def __init__(self, number: int, writer: asyncio.StreamWriter) -> None:
        self.role = Role("plugin", "unknown")  # the least, until the hello
        self.pid = 0
        self.client = f"connection {number}"
        self.subscriptions: dict[int, asyncio.Task[None]] = {}
        self.pending: list[tuple[int, Coroutine[Any, Any, None]]] = []
        self._writer = writer
        self._writing = asyncio.Lock()

    @property
    def socket(self) -> socket.socket:
        """The socket."""
        return self._writer.get_extra_info("socket")

    async def send(self, frame: Reply | Notification | Failure) -> None:
        """Send a frame, in parts if it is large. Raises Gone when the other side does not read."""
        async with self._writing:
            for line in lines_of(frame):
                self._writer.write(line)
                try:
                    async with asyncio.timeout(WRITE_SECONDS):
                        await self._writer.drain()
                except TimeoutError:
                    self._writer.transport.abort()
                    raise Gone from None

    async def close(self) -> None:
        """End its subscriptions and hang up."""
        tasks = list(self.subscriptions.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._writer.close()
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
