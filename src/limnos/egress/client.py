"""The HTTP client: streams requests and answers within bounds, follows nothing, trusts no variable.

Proxy variables, `.netrc` and `SSL_CERT_FILE` of the environment have no effect: where a request goes is
decided by its URL alone.
"""

import asyncio
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import SplitResult, unquote

from limnos import lazy
from limnos.egress.address import host_header, place_of, split, target
from limnos.egress.connecting import connect_error
from limnos.egress.errors import BrokenError, BusyError, EgressError, TimedOutError, TooLargeError
from limnos.egress.headers import encoded
from limnos.egress.network import Network
from limnos.egress.stream import Stream

if TYPE_CHECKING:
    import httpcore2

# A streamed reply spends about 300 bytes a token on its frames: 64 MB hold some 200,000 tokens.
STREAM_BYTES = 64 * 1024 * 1024
BODY_BYTES = 10 * 1024 * 1024
ERROR_BYTES = 64 * 1024
ERROR_SECONDS = 10.0
DRAIN_SECONDS = 0.1
CONNECTIONS = 64
KEEPALIVE_SECONDS = 5.0


class Timeouts(NamedTuple):
    """Limits in seconds. `read_s` bounds the wait for the first byte and between any two reads."""

    connect_s: float = 10.0
    read_s: float = 240.0
    write_s: float = 60.0
    pool_s: float = 10.0


class Response:
    """The answer to one request: status and headers now, the body as it comes."""

    def __init__(self, response: "httpcore2.Response", where: str, read_s: float) -> None:
        self._where = where
        self._read_s = read_s
        self._body = response.aiter_stream()
        self._stream = cast("Stream", response.extensions["network_stream"])  # pyright: ignore[reportUnknownMemberType]
        self._head_end, self._body_size = self._stream.delivered, 0
        self.status = response.status
        self.headers = _headers_of(response)

    async def chunks(self, limit: int = STREAM_BYTES) -> AsyncGenerator[bytes]:
        """The body in the network's pieces, decoded from nothing.

        Raises TooLargeError beyond `limit` bytes, BrokenError when the body is compressed (we ask for it
        plain, so that no small body can unfold into a large one), and the errors of the network.
        """
        coding = self.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            what = f"sent a body in {coding[:40]!r} that was asked for plain"
            raise BrokenError(self._where, what, "turn compression off in the server or proxy")
        size = 0
        with _translated(self._where):
            while (chunk := await self._piece()) is not None:
                size += len(chunk)
                if size > limit:
                    raise TooLargeError(self._where, f"sent more than {limit} bytes", "check the address")
                yield chunk

    async def _piece(self) -> bytes | None:
        """The next piece; None at the end. The library's limit is for each read: drips would pass it."""
        async with asyncio.timeout(self._read_s):
            piece = await anext(self._body, None)
        self._body_size += len(piece or b"")
        return piece

    def check_leftovers(self) -> None:
        """Retire the connection when a body that is not in chunks took less than the parser was given."""
        given = self._stream.delivered - self._head_end
        if "transfer-encoding" not in self.headers and given > self._body_size:
            self._stream.retire()

    async def read(self, limit: int = BODY_BYTES) -> bytes:
        """The whole body. Raises as `chunks` does."""
        return b"".join([chunk async for chunk in self.chunks(limit)])

    async def excerpt(self) -> bytes:
        """The beginning of an error body: at most 64 KB and 10 s, and never an error of its own."""
        kept = bytearray()
        try:
            async with asyncio.timeout(ERROR_SECONDS), aclosing(self.chunks()) as chunks:
                async for chunk in chunks:
                    kept += chunk
                    if len(kept) >= ERROR_BYTES:
                        break
        except (EgressError, TimeoutError):
            pass
        return bytes(kept[:ERROR_BYTES])

    async def drain(self) -> None:
        """Take in what little may follow the end mark, so that the connection can serve again."""
        try:
            async with asyncio.timeout(DRAIN_SECONDS):
                async for _ in self.chunks(ERROR_BYTES):
                    pass
        except (EgressError, TimeoutError):
            return


class Client:
    """Connections to a few servers, kept alive between requests. Belongs to one event loop."""

    def __init__(self, timeouts: Timeouts | None = None) -> None:
        self._timeouts = timeouts or Timeouts()
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}

    def prepare(self, url: str) -> None:
        """Load what requests to `url` need, so that a short time limit measures the server alone."""
        self._pool(split(url).scheme)

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> AsyncGenerator[Response]:
        """Send `body` and give the response, whatever its status. Raises EgressError."""
        async with self._exchange("POST", url, headers, body) as response:
            yield response

    @asynccontextmanager
    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> AsyncGenerator[Response]:
        """Ask for `url` and give the response, whatever its status. Raises EgressError."""
        async with self._exchange("GET", url, headers or {}, None) as response:
            yield response

    async def close(self) -> None:
        """Close all connections; may be called twice."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    @asynccontextmanager
    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[Response]:
        where, parts, limits = target(url), split(url), self._timeouts
        request = lazy.httpcore2.Request(
            method,
            place_of(parts),
            headers=encoded(where, _own_headers(parts, body), headers),
            content=body,
            extensions={
                "timeout": {
                    "connect": limits.connect_s,
                    "read": limits.read_s,
                    "write": limits.write_s,
                    "pool": limits.pool_s,
                }
            },
        )
        with _translated(where):
            async with asyncio.timeout(limits.connect_s + limits.read_s):
                # the library's own limit is for each read: a head that drips would pass it for ever
                raw = await self._pool(parts.scheme).handle_async_request(request)
        response = Response(raw, where, limits.read_s)
        try:
            yield response
        finally:
            response.check_leftovers()
            with suppress(EgressError), _translated(where):
                await raw.aclose()

    def _pool(self, scheme: str) -> "httpcore2.AsyncConnectionPool":
        known = self._pools.get(scheme)
        if known is None:
            known = self._pools[scheme] = lazy.httpcore2.AsyncConnectionPool(
                ssl_context=tls_context() if scheme == "https" else None,
                max_connections=CONNECTIONS,
                keepalive_expiry=KEEPALIVE_SECONDS,
                network_backend=cast("httpcore2.AsyncNetworkBackend", Network()),
            )
        return known


def tls_context() -> ssl.SSLContext:
    """A context that verifies against the system's authorities; reading them takes 60 ms."""
    return lazy.httpx2.create_ssl_context(trust_env=False)


def _own_headers(parts: SplitResult, body: bytes | None) -> dict[str, str]:
    """What every request says; a user and password in the URL become a header."""
    headers = {
        "host": host_header(parts),
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": "limnos",
    }
    if body is not None:
        headers["content-length"] = str(len(body))
    if parts.username or parts.password:
        pair = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers["authorization"] = "Basic " + b64encode(pair.encode()).decode()
    return headers


def _headers_of(response: "httpcore2.Response") -> dict[str, str]:
    """Names in lower case; the values of a repeated one are joined by commas."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in response.headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


@contextmanager
def _translated(where: str) -> Generator[None]:
    """Turn the HTTP client's exceptions into ours. Their texts may hold a URL, so only their kind is told."""
    try:
        yield
    except lazy.httpcore2.ConnectTimeout:
        raise TimedOutError(where, "no connection in time", "check that the server runs") from None
    except lazy.httpcore2.PoolTimeout:
        what = f"{CONNECTIONS} requests run already, and none ended in time"
        raise BusyError(where, what, "ask again when others have ended") from None
    except (lazy.httpcore2.TimeoutException, TimeoutError):
        raise TimedOutError(where, "no answer in time", "raise the provider's timeout_s") from None
    except lazy.httpcore2.ConnectError as error:
        raise connect_error(where, error) from None
    except lazy.httpcore2.NetworkError:
        raise BrokenError(where, "the connection broke", "try again") from None
    except lazy.httpcore2.ProtocolError:
        what = "the connection broke in mid-answer, or what came is no HTTP"
        raise BrokenError(where, what, "try again, or correct the address") from None
