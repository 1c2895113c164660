import asyncio
import socket
import ssl
from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest

from limnos.egress.client import Client, Timeouts, tls_context
from limnos.egress.errors import (
    BadAddressError,
    BrokenError,
    ConnectFailedError,
    EgressError,
    TimedOutError,
    TooLargeError,
)
from limnos.testing.model_server import Answer, ModelServer, Recorded

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

    with pytest.raises(ConnectFailedError, match="TLS"):
        asyncio.run(run())
    assert SECRET.encode() not in heard


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
    "url", ["ftp://h/x", "http://", "//h", "h", "http://h:99999", "http://[", "file:///etc/passwd"]
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
