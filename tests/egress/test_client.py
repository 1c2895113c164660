import asyncio
import socket
import ssl
from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest

from limnos.egress.client import CONNECTIONS, Client, Timeouts, tls_context
from limnos.egress.errors import (
    BadAddressError,
    BadHeaderError,
    BrokenError,
    BusyError,
    ConnectFailedError,
    EgressError,
    TimedOutError,
    TooLargeError,
    UntrustedError,
)
from limnos.testing.model_server import Answer, ModelServer, Recorded
from tests.egress.certificates import self_signed

QUICK = Timeouts(connect_s=2, read_s=0.05, write_s=2, pool_s=2)
SECRET = "made-up-password"


def fetched(*answers: Answer, limit: int = 1000, timeouts: Timeouts | None = None) -> bytes:
    async def run() -> bytes:
        async with ModelServer(answers) as server:
            client = Client(timeouts)
            try:
                async with client.post(server.url, b"{}", {}) as response:
                    return await response.read(limit)
            finally:
                await client.close()

    return asyncio.run(run())


async def ask(url: str, timeouts: Timeouts | None = None) -> int:
    client = Client(timeouts)
    try:
        async with client.get(url) as response:
            return response.status
    finally:
        await client.close()


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_body_comes_in_the_pieces_of_the_network() -> None:
    async def run() -> list[bytes]:
        async with ModelServer([Answer([b"a", b"bc", b"d"])]) as server:
            client = Client()
            async with client.post(server.url, b"{}", {}) as response:
                chunks = [chunk async for chunk in response.chunks()]
            await client.close()
            return chunks

    assert asyncio.run(run()) == [b"a", b"bc", b"d"]


def test_proxy_variables_and_netrc_have_no_effect(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login u password {SECRET}")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))

    async def run() -> dict[str, str]:
        async with ModelServer([Answer([b"x"])]) as server:
            await ask(server.url)
            return dict(server.requests[0].headers)

    assert "authorization" not in asyncio.run(run())


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    async def run() -> int:
        async with ModelServer([Answer((), 302, {"location": "/other"})]) as server:
            return await ask(server.url)

    assert asyncio.run(run()) == 302


def test_nobody_listening_names_host_and_port_only() -> None:
    port = unused_port()
    with pytest.raises(ConnectFailedError) as caught:
        asyncio.run(ask(f"http://user:{SECRET}@127.0.0.1:{port}/path?key={SECRET}"))
    assert caught.value.target == f"127.0.0.1:{port}"
    assert SECRET not in caught.value.what
    assert caught.value.__cause__ is None
    assert caught.value.fix


@pytest.mark.parametrize("answer", [Answer(silent=True), Answer([b"a"], ends="hang")])
def test_a_server_that_hangs_runs_into_the_time_limit(answer: Answer) -> None:
    with pytest.raises(TimedOutError):
        fetched(answer, timeouts=QUICK)


@pytest.mark.parametrize("ends", ["early", "reset"])
def test_a_lost_connection_is_broken(ends: Any) -> None:
    with pytest.raises(BrokenError):
        fetched(Answer([b"a"], ends=ends))


def test_a_body_beyond_its_bound_is_refused() -> None:
    assert fetched(Answer([b"x" * 100] * 10)) == b"x" * 1000
    with pytest.raises(TooLargeError):
        fetched(Answer([b"x" * 100] * 11))


def test_a_compressed_body_is_refused_since_it_was_asked_for_plain() -> None:
    with pytest.raises(BrokenError, match="gzip"):
        fetched(Answer([b"\x1f\x8b"], 200, {"content-encoding": "gzip"}))


def test_what_does_not_speak_http_is_broken() -> None:
    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-nothing\r\n" * 20)
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
            await ask(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")

    with pytest.raises(BrokenError):
        asyncio.run(run())


def test_a_server_without_tls_is_not_spoken_to_in_plain() -> None:
    heard = bytearray()

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.extend(await reader.read(4096))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        writer.close()

    async def run() -> None:
        async with await asyncio.start_server(babble, "127.0.0.1", 0) as server:
            await ask(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/{SECRET}")

    with pytest.raises(UntrustedError, match="speaks no TLS"):
        asyncio.run(run())
    assert SECRET.encode() not in heard


@pytest.fixture(scope="module")
def own_certificate(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """A server's context with a certificate that it signed itself."""
    return self_signed(tmp_path_factory.mktemp("tls"), "127.0.0.1").server


def test_a_certificate_that_nobody_trusted_signed_is_refused_and_the_error_says_why(
    own_certificate: ssl.SSLContext,
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=own_certificate)
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the server's half of the refusal
        async with server:
            await ask(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/{SECRET}")

    with pytest.raises(UntrustedError, match="self-signed") as caught:
        asyncio.run(run())
    assert SECRET not in caught.value.what
    assert "certificate" in caught.value.fix


def test_tls_verifies_certificate_and_name_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent")
    context = tls_context()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs()


def test_a_request_says_where_it_goes_and_who_asks() -> None:
    async def run() -> Recorded:
        async with ModelServer([Answer([b"x"])]) as server:
            address = server.url.replace("http://", f"http://user:{SECRET}@")
            client = Client()
            async with client.post(f"{address}/a b?q=\u00e4", b"{}", {"X-More": "1"}) as response:
                await response.read()
            await client.close()
            return server.requests[0]

    request = asyncio.run(run())

    assert request.path.endswith("/a%20b?q=%C3%A4")
    assert request.headers["host"].startswith("127.0.0.1:")
    assert request.headers["authorization"] == f"Basic {b64encode(f'user:{SECRET}'.encode()).decode()}"
    assert (request.headers["x-more"], request.headers["content-length"]) == ("1", "2")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/x",
        "http://",
        "//h",
        "h",
        "http://h:99999",
        "http://[",
        "file:///etc/passwd",
        "http://h/\udcff",
    ],
)
def test_what_is_no_http_address_is_refused_before_any_connection(url: str) -> None:
    with pytest.raises(BadAddressError):
        asyncio.run(ask(url))


@pytest.mark.parametrize(
    ("answer", "size"),
    [
        (Answer([b"x" * 50_000] * 10, 500), 65536),
        (Answer([b"x" * 10], 500, ends="early"), 10),
        (Answer([b"x" * 10], 500, {"content-encoding": "gzip"}), 0),
    ],
)
def test_the_excerpt_of_an_error_body_is_bounded_and_never_fails(answer: Answer, size: int) -> None:
    async def run() -> int:
        async with ModelServer([answer]) as server:
            client = Client()
            async with client.get(server.url) as response:
                excerpt = await response.excerpt()
            await client.close()
            return len(excerpt)

    assert asyncio.run(run()) == size


def test_all_errors_of_this_folder_say_what_to_do() -> None:
    for kind in (BadAddressError, BrokenError, ConnectFailedError, TimedOutError, TooLargeError):
        error = kind("h:1", "what", "fix")
        assert isinstance(error, EgressError)
        assert (error.target, error.fix, error.what) == ("h:1", "fix", "h:1: what")


def test_closing_twice_is_fine() -> None:
    async def run() -> None:
        client = Client()
        await client.close()
        await client.close()

    asyncio.run(run())


def test_a_head_that_comes_in_drips_ends_at_the_time_limit() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1000), 0.02)
        writer.close()
        gone.set()

    gone = asyncio.Event()

    async def ask() -> None:
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = Client(Timeouts(connect_s=0.1, read_s=0.2))
        try:
            async with client.get(f"http://127.0.0.1:{port}/"):
                raise AssertionError("there was an answer")
        finally:
            await client.close()
            await gone.wait()
            server.close()
            await server.wait_closed()

    with pytest.raises(TimedOutError):
        asyncio.run(asyncio.wait_for(ask(), 10))


def test_a_body_that_comes_in_drips_which_hold_nothing_ends_at_the_time_limit() -> None:
    """Lines behind the last chunk are no bytes of the body: only a limit on the whole wait sees them."""

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
        with suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"A: b\r\n")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(reader.read(1000), 0.02)
        writer.close()
        gone.set()

    gone = asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        client = Client(Timeouts(connect_s=2, read_s=0.1))
        try:
            async with client.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/") as response:
                await response.read()
        finally:
            await client.close()
            await gone.wait()
            server.close()
            await server.wait_closed()

    with pytest.raises(TimedOutError):
        asyncio.run(asyncio.wait_for(run(), 10))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-more", f"{SECRET}\r\nx-evil: 1"),
        ("x-more", f"{SECRET}\x00"),
        ("x-more", f"{SECRET}\udcff"),
        ("x-more\r\nx-evil", SECRET),
        ("", SECRET),
        ("Content-Length", "1"),
        ("Transfer-Encoding", "chunked"),
    ],
)
def test_a_header_that_cannot_be_sent_is_an_error_without_its_value(name: str, value: str) -> None:
    async def run() -> None:
        async with ModelServer() as server:
            client = Client()
            try:
                async with client.post(server.url, b"{}", {name: value}):
                    raise AssertionError("it was sent")
            finally:
                await client.close()

    with pytest.raises(BadHeaderError) as caught:
        asyncio.run(run())
    assert SECRET not in caught.value.what + caught.value.fix
    assert caught.value.fix


def test_more_requests_than_may_run_at_once_wait_and_then_say_so() -> None:
    async def one(client: Client, url: str, held: asyncio.Event) -> int:
        async with client.get(url) as response:
            await held.wait()
            return response.status

    async def run() -> tuple[list[int], int]:
        held = asyncio.Event()
        async with ModelServer(lambda _: Answer([b"x"])) as server:
            client = Client(Timeouts(pool_s=0.05))
            running = [asyncio.create_task(one(client, server.url, held)) for _ in range(CONNECTIONS)]
            while server.connections < CONNECTIONS or len(server.requests) < CONNECTIONS:
                await asyncio.sleep(0)
            with pytest.raises(BusyError, match=str(CONNECTIONS)):
                await one(client, server.url, held)
            held.set()
            ended = await asyncio.gather(*running)
            again = await one(client, server.url, held)
            await client.close()
            return ended, again

    assert asyncio.run(run()) == ([200] * CONNECTIONS, 200)


def test_a_request_that_is_cancelled_anywhere_leaves_no_connection_behind() -> None:
    async def run() -> int:
        async with ModelServer(lambda _: Answer([b"a", b"b"])) as server:
            client = Client(Timeouts(pool_s=0.2))
            for steps in range(3 * CONNECTIONS):
                task = asyncio.create_task(_fetch(client, server.url))
                for _ in range(steps % 40):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            async with client.get(server.url) as response:
                status = response.status
            await client.close()
            return status

    assert asyncio.run(run()) == 200


async def _fetch(client: Client, url: str) -> bytes:
    async with client.get(url) as response:
        return await response.read()
