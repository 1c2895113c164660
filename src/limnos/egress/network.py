"""How connections come about: names become addresses in a thread that nobody waits for.

The event loop's own lookups run in its executor, which the program waits for at its end: a silent name server
would hold it for half a minute after a stop.
"""

import asyncio
import socket
import threading
from contextlib import suppress
from ipaddress import ip_address

from limnos import lazy
from limnos.egress.stream import Stream, connect


class Network:
    """A network backend of httpcore2, by shape: its class would have to be imported at the start."""

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, **_never_set: None
    ) -> Stream:
        """Connect to the first address of `host` that answers; each has its share of the time left.

        The pool also names a local address and socket options, which are never set here.
        """
        clock = asyncio.get_running_loop().time
        end = clock() + timeout if timeout is not None else None
        found = await _resolved(host, port, timeout)
        while True:
            share = (end - clock()) / len(found) if end is not None else None
            try:
                return await connect(found.pop(0), port, share)
            except (lazy.httpcore2.ConnectError, lazy.httpcore2.ConnectTimeout):
                if not found:
                    raise

    async def sleep(self, seconds: float) -> None:
        """Wait, for the library's own retries."""
        await asyncio.sleep(seconds)


async def _resolved(host: str, port: int, seconds: float | None) -> list[str]:
    try:
        async with asyncio.timeout(seconds):
            return await addresses(host, port)
    except TimeoutError:
        raise lazy.httpcore2.ConnectTimeout from None
    except (OSError, UnicodeError) as error:
        raise lazy.httpcore2.ConnectError(error) from None


async def addresses(host: str, port: int) -> list[str]:
    """The addresses of `host`, the one that the system prefers first. Raises OSError or UnicodeError."""
    if _is_address(host):
        return [host]
    loop = asyncio.get_running_loop()
    found: asyncio.Future[list[str]] = loop.create_future()

    def settle(result: list[str] | OSError | UnicodeError) -> None:
        if found.done():
            return
        if isinstance(result, list):
            found.set_result(result)
        else:
            found.set_exception(result)

    def look_up() -> None:
        try:
            entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            known = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
            result = known or OSError("no address")
        except (OSError, UnicodeError) as error:
            result = error
        with suppress(RuntimeError):  # the loop has ended: nobody waits any more
            loop.call_soon_threadsafe(settle, result)

    threading.Thread(target=look_up, name="name lookup", daemon=True).start()
    return await found


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
