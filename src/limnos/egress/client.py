"""The HTTP client: streams requests and answers within bounds, follows nothing, trusts no variable.

Proxy variables, `.netrc` and `SSL_CERT_FILE` of the environment have no effect: where a request goes is
decided by its URL alone.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from limnos import lazy
from limnos.egress.address import split, target
from limnos.egress.errors import (
    BadAddressError,
    BrokenError,
    ConnectFailedError,
    EgressError,
    TimedOutError,
    TooLargeError,
)

if TYPE_CHECKING:
    import httpx2

# A streamed reply spends about 300 bytes a token on its frames: 64 MB hold some 200,000 tokens.
STREAM_BYTES = 64 * 1024 * 1024
BODY_BYTES = 10 * 1024 * 1024
ERROR_BYTES = 64 * 1024
ERROR_SECONDS = 10.0
DRAIN_SECONDS = 0.1
CONNECTIONS = 64


class Timeouts(NamedTuple):
    """Limits in seconds. `read_s` bounds the wait for the first byte and between any two reads."""

    connect_s: float = 10.0
    read_s: float = 240.0
    write_s: float = 60.0
    pool_s: float = 10.0


class Reply:
    """The answer to one request: status and headers now, the body as it comes."""

    def __init__(self, response: "httpx2.Response", where: str) -> None:
        self._where = where
        self._body = response.aiter_raw()
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

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
            async for chunk in self._body:
                size += len(chunk)
                if size > limit:
                    raise TooLargeError(self._where, f"sent more than {limit} bytes", "check the address")
                yield chunk

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
        self._clients: dict[str, httpx2.AsyncClient] = {}

    def prepare(self, url: str) -> None:
        """Load what requests to `url` need, so that a short time limit measures the server alone."""
        self._client(split(url).scheme)

    @asynccontextmanager
    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> AsyncGenerator[Reply]:
        """Send `body` and give the reply, whatever its status. Raises EgressError."""
        async with self._exchange("POST", url, headers, body) as reply:
            yield reply

    @asynccontextmanager
    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> AsyncGenerator[Reply]:
        """Ask for `url` and give the reply, whatever its status. Raises EgressError."""
        async with self._exchange("GET", url, headers or {}, None) as reply:
            yield reply

    async def close(self) -> None:
        """Close all connections; may be called twice."""
        clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()

    @asynccontextmanager
    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> AsyncGenerator[Reply]:
        where = target(url)
        client = self._client(split(url).scheme)
        with _translated(where):
            request = client.build_request(
                method, url, content=body, headers={"accept-encoding": "identity", **headers}
            )
            async with asyncio.timeout(self._timeouts.connect_s + self._timeouts.read_s):
                # the client's own limit is for each read: a head that drips would pass it for ever
                response = await client.send(request, stream=True, follow_redirects=False)
        try:
            yield Reply(response, where)
        finally:
            with suppress(EgressError), _translated(where):
                await response.aclose()

    def _client(self, scheme: str) -> "httpx2.AsyncClient":
        known = self._clients.get(scheme)
        if known is None:
            known = self._clients[scheme] = self._open(scheme)
        return known

    def _open(self, scheme: str) -> "httpx2.AsyncClient":
        limits = self._timeouts
        return lazy.httpx2.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            verify=tls_context(scheme),
            headers={"user-agent": "limnos"},
            limits=lazy.httpx2.Limits(max_connections=CONNECTIONS),
            timeout=lazy.httpx2.Timeout(
                connect=limits.connect_s, read=limits.read_s, write=limits.write_s, pool=limits.pool_s
            ),
        )


def tls_context(scheme: str) -> ssl.SSLContext:
    """A context that verifies. The one for http is never used, so it reads no authorities (60 ms)."""
    if scheme == "https":
        return lazy.httpx2.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@contextmanager
def _translated(where: str) -> Generator[None]:
    """Turn the HTTP client's exceptions into ours. Their texts may hold a URL, so only their kind is told."""
    try:
        yield
    except lazy.httpx2.ConnectTimeout:
        raise TimedOutError(where, "no connection in time", "check that the server runs") from None
    except (lazy.httpx2.TimeoutException, TimeoutError):
        raise TimedOutError(where, "no answer in time", "raise the provider's timeout_s") from None
    except lazy.httpx2.ConnectError as error:
        raise ConnectFailedError(
            where, _connect_reason(error), "start the server or correct the address"
        ) from None
    except (lazy.httpx2.UnsupportedProtocol, lazy.httpx2.InvalidURL):
        raise BadAddressError(where, "is no usable URL", "write http://host:port/path") from None
    except (lazy.httpx2.HTTPError, lazy.httpx2.StreamError) as error:
        raise BrokenError(where, f"the connection broke ({type(error).__name__})", "try again") from None


def _connect_reason(error: Exception) -> str:
    text = str(error)
    if "CERTIFICATE" in text or "SSL" in text:
        return "the TLS certificate could not be verified"
    return "no connection"
