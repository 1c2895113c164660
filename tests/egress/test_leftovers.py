"""A connection on which more came than one answer is not used again: the rest is nobody's answer."""

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from limnos.egress import client as egress
from limnos.egress.client import Client, Timeouts
from tests.egress.certificates import SelfSigned, self_signed


def counted(body: bytes) -> bytes:
    """An answer that says how long its body is."""
    return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


EVIL = counted(b"evil")
PLAIN = counted(b"ok")
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
TRAILED = CHUNKED[:-2] + b"a: b\r\n\r\n"
EARLY = b"HTTP/1.1 103 Early Hints\r\n\r\n"
EMPTY = b"HTTP/1.1 204 No Content\r\n\r\n"
NOTHING = counted(b"")
BLANK_LINES = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n0\n\n\n\r\n4\r\n\n\r\n0\r\n0\r\n\r\n"
)
LARGE = counted(b"x" * 65_490)
HUGE = counted(b"x" * 300_000)
ANSWERS = {
    "length": PLAIN, "chunked": CHUNKED, "trailer": TRAILED, "early": EARLY + PLAIN, "no content": EMPTY,
    "nothing": NOTHING, "blank lines": BLANK_LINES, "large": LARGE, "huge": HUGE,
}  # fmt: skip


class Seen(NamedTuple):
    bodies: list[bytes]
    connections: int


def talk(writes: Sequence[bytes], requests: int = 2, tls: ssl.SSLContext | None = None) -> Seen:
    """Ask so often, of a server that sends `writes` for each request and keeps its connections open."""

    async def run() -> Seen:
        connections = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal connections
            connections += 1
            try:
                while await reader.readuntil(b"\r\n\r\n"):
                    for data in writes:
                        writer.write(data)
                        await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls) as server:
            port = server.sockets[0].getsockname()[1]
            client, bodies = Client(Timeouts(2, 2, 2, 2)), list[bytes]()
            for _ in range(requests):
                async with client.get(f"http{'s' if tls else ''}://127.0.0.1:{port}/") as response:
                    bodies.append(await response.read())
            await client.close()
        return Seen(bodies, connections)

    return asyncio.run(asyncio.wait_for(run(), 20))


def body_of(answer: bytes) -> bytes:
    """What a client that asks once reads."""
    return talk([answer], 1).bodies[0]


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_connection_that_brought_one_answer_serves_again(answer: bytes) -> None:
    seen = talk([answer], 3)

    assert seen.connections == 1
    assert seen.bodies == [body_of(answer)] * 3


@pytest.mark.parametrize("answer", [PLAIN, CHUNKED, TRAILED, BLANK_LINES, EARLY + PLAIN])
def test_an_answer_that_comes_byte_by_byte_is_the_same(answer: bytes) -> None:
    seen = talk([answer[place : place + 1] for place in range(len(answer))], 3)

    assert seen.connections == 1
    assert seen.bodies == [body_of(answer)] * 3


@pytest.mark.parametrize("more", [EVIL, b"HTTP/1.1 200 OK\r\nx-evil: ", b"\r\n", b"x", b"0\r\n\r\n"])
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_what_comes_behind_an_answer_is_not_the_next_one(answer: bytes, more: bytes) -> None:
    seen = talk([answer + more], 3)

    assert seen.bodies == [body_of(answer)] * 3
    assert seen.connections == 3


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_nor_is_what_comes_in_a_write_of_its_own(answer: bytes) -> None:
    assert talk([answer, EVIL], 3).bodies == [body_of(answer)] * 3


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SelfSigned:
    """A certificate that this machine trusts for the while."""
    made = self_signed(tmp_path, "127.0.0.1")
    monkeypatch.setattr(egress, "tls_context", lambda: made.trusting)
    return made


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_inside_tls_it_is_the_same(tls: SelfSigned, answer: bytes) -> None:
    whole = body_of(answer)

    assert talk([answer], 3, tls.server) == Seen([whole] * 3, 1)
    assert talk([answer + EVIL], 3, tls.server) == Seen([whole] * 3, 3)
    assert talk([answer, EVIL], 3, tls.server).bodies == [whole] * 3


def test_an_answer_of_blank_lines_only_is_read_at_the_cost_of_its_connection() -> None:
    few, many = b"\n" * 6_000, b"\n" * 300_000

    assert talk([counted(few)], 3) == Seen([few] * 3, 1)
    assert talk([counted(many)], 3) == Seen([many] * 3, 3)


def test_a_body_that_nobody_read_to_its_end_is_not_the_next_answer() -> None:
    async def run() -> list[bytes]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while await reader.readuntil(b"\r\n\r\n"):
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 300002\r\n\r\nok" + EVIL * 7500)
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            client, seen = Client(), list[bytes]()
            for _ in range(3):
                async with client.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/") as response:
                    seen.append((await anext(response.chunks()))[:2])
            await client.close()
        return seen

    assert asyncio.run(run()) == [b"ok"] * 3


@pytest.mark.parametrize("abort", [False, True])
def test_a_connection_that_the_other_side_closed_meanwhile_is_not_used_again(abort: bool) -> None:
    async def run() -> list[bytes]:
        closed = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(PLAIN)
            await read.wait()
            if abort:
                writer.transport.abort()
            writer.close()
            await writer.wait_closed()
            closed.set()

        read = asyncio.Event()
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            client, bodies = Client(), list[bytes]()
            for _ in range(3):
                async with client.get(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/") as response:
                    bodies.append(await response.read())
                read.set()
                await closed.wait()
                read.clear()
                closed.clear()
            await client.close()
        return bodies

    assert asyncio.run(asyncio.wait_for(run(), 20)) == [b"ok"] * 3
