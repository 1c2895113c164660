"""Names are looked up beside the program, which neither waits for a silent name server nor stays for it."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from limnos.egress.client import Client, Timeouts
from limnos.egress.errors import ConnectFailedError, TimedOutError
from limnos.testing.model_server import Answer, ModelServer

NAME = "name.test"


def knows(monkeypatch: pytest.MonkeyPatch, *known: str) -> None:
    """Let the system know `NAME` by these addresses."""
    before = socket.getaddrinfo

    def look_up(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        if host != NAME:
            return before(host, port, *more, **named)
        return [entry for address in known for entry in before(address, port, *more, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


async def status_of(port: int, timeouts: Timeouts | None = None) -> int:
    client = Client(timeouts)
    try:
        async with client.get(f"http://{NAME}:{port}/") as response:
            return response.status
    finally:
        await client.close()


def test_the_next_address_is_tried_when_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    knows(monkeypatch, "::1", "127.0.0.2", "127.0.0.1")

    async def run() -> int:
        async with ModelServer([Answer([b"x"])]) as server:
            return await status_of(server.port)

    assert asyncio.run(run()) == 200


def test_no_address_that_answers_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    knows(monkeypatch, "127.0.0.2", "127.0.0.3")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConnectFailedError):
        asyncio.run(status_of(taken.getsockname()[1]))


def test_a_name_that_nobody_knows_is_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConnectFailedError, match="no connection"):
        asyncio.run(status_of(80))


def test_a_silent_name_server_costs_the_time_limit_and_holds_nobody_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers, asked = threading.Event(), threading.Event()

    def silent(*_: Any, **__: Any) -> Any:
        asked.set()
        answers.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    with pytest.raises(TimedOutError):
        asyncio.run(status_of(80, Timeouts(connect_s=0.05)))

    assert asked.is_set()
    assert not answers.is_set()
    answers.set()
