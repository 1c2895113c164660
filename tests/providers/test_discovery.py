import asyncio
import json
import socket

import pytest

from limnos.kernel.errors import ModelUnavailableError
from limnos.providers.discovery import (
    KEY_PROVIDERS,
    LOCAL_SERVERS,
    LocalServer,
    ModelOffer,
    Places,
    discover,
    list_models,
    round_trip,
)
from limnos.providers.routes import Route, Secret
from limnos.testing.model_server import JSON, Answer, ModelServer, error_answer, text_answer

from .support import KEY, model_for

MODELS = {"object": "list", "data": [{"id": "qwen"}, {"id": "llama"}]}


def listing(value: object, status: int = 200) -> Answer:
    return Answer([json.dumps(value).encode()], status, JSON)


def local_offers(answer: Answer) -> list[ModelOffer]:
    patience = 0.2 if answer.silent or answer.ends == "hang" else 5.0

    async def run() -> list[ModelOffer]:
        async with ModelServer([answer]) as server:
            places = Places(servers=[LocalServer("ollama", "Ollama", server.port)])
            return await discover(places, patience)

    return [offer for offer in asyncio.run(run()) if offer.kind == "local"]


def test_a_running_server_is_offered_with_its_models() -> None:
    (offer,) = local_offers(listing(MODELS))
    assert (offer.label, offer.reachable, offer.models) == ("Ollama", True, ("qwen", "llama"))
    assert offer.latency_ms is not None
    assert offer.base_url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    "value",
    [
        {"models": [{"name": "qwen"}, {"model": "llama"}]},
        {"data": ["qwen", "llama", 7, {"id": "evil\x1b[2J"}, {"id": ""}, {"id": "x" * 999}]},
    ],
)
def test_other_forms_of_the_list_are_read_and_unprintable_names_left_out(value: object) -> None:
    (offer,) = local_offers(listing(value))
    assert offer.models == ("qwen", "llama")


@pytest.mark.parametrize(
    "answer",
    [
        listing({}, 404),
        Answer([b"<html>"], 200, {"content-type": "text/html"}),
        Answer(silent=True),
        Answer([b"{"], ends="hang"),
        Answer([b"x" * 70_000] * 30),
        Answer([b"{}"], ends="reset"),
        Answer((), 302, {"location": "http://192.0.2.1/v1/models"}),
    ],
)
def test_what_is_no_model_server_is_not_offered(answer: Answer) -> None:
    assert local_offers(answer) == []


def test_a_server_that_runs_but_can_not_be_used_says_why() -> None:
    (empty,) = local_offers(listing({"data": []}))
    (locked,) = local_offers(error_answer(401, "key"))
    assert (empty.reachable, locked.reachable) == (False, False)
    assert "no model" in empty.reason
    assert "key" in locked.reason


def test_servers_are_asked_at_once() -> None:
    async def run() -> list[ModelOffer]:
        async with ModelServer([Answer(silent=True)] * 6) as server, asyncio.timeout(3):
            return await discover(Places(servers=[LocalServer("a", "A", server.port)] * 6), probe_s=0.3)

    assert [offer.kind for offer in asyncio.run(run())] == ["embedded"]


def test_a_key_is_offered_and_neither_shown_nor_sent() -> None:
    offers = asyncio.run(discover(Places(variables={"OPENAI_API_KEY": KEY, "GROQ_API_KEY": " "}, servers=())))
    (offer,) = [offer for offer in offers if offer.kind == "key"]
    assert (offer.name, offer.variable, offer.reachable) == ("openai", "OPENAI_API_KEY", None)
    assert KEY not in repr(offers)


def test_a_key_that_can_not_be_used_says_why() -> None:
    offers = asyncio.run(discover(Places(variables={"OPENAI_API_KEY": f"{KEY}\n"}, servers=())))
    assert offers[0].reachable is False
    assert "OPENAI_API_KEY" in offers[0].reason


def test_what_is_configured_comes_first_and_the_embedded_model_last() -> None:
    async def run() -> list[ModelOffer]:
        async with ModelServer([listing(MODELS), listing(MODELS)]) as server:
            places = Places(
                configured=[Route("mine", server.url, "qwen"), Route("far", "https://192.0.2.1/v1", "gpt")],
                variables={"MISTRAL_API_KEY": KEY},
                embedded=["small"],
                servers=[LocalServer("ollama", "Ollama", server.port)],
            )
            return await discover(places, probe_s=5.0)

    offers = asyncio.run(run())
    assert [(offer.kind, offer.reachable) for offer in offers] == [
        ("configured", True),
        ("configured", None),
        ("local", True),
        ("key", None),
        ("embedded", True),
    ]


def test_a_configured_server_that_is_down_says_so() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        route = Route("mine", f"http://127.0.0.1:{probe.getsockname()[1]}", "m")
        offer, _ = asyncio.run(discover(Places(configured=[route], servers=()), probe_s=5.0))
    assert offer.reachable is False
    assert "no connection" in offer.reason


def test_the_standard_addresses_are_loopback_and_the_providers_https() -> None:
    assert {(server.name, server.port) for server in LOCAL_SERVERS} == {
        ("ollama", 11434),
        ("llama-server", 8080),
        ("lmstudio", 1234),
    }
    assert all(server.base_url.startswith("http://127.0.0.1:") for server in LOCAL_SERVERS)
    assert all(Route("r", provider.base_url, "m").url.startswith("https://") for provider in KEY_PROVIDERS)


def test_listing_models_after_a_yes_sends_the_key() -> None:
    async def run() -> tuple[tuple[str, ...], str]:
        async with ModelServer([listing(MODELS)]) as server:
            names = await list_models(Route("r", server.url, "m", Secret(KEY)))
            return names, server.requests[0].headers["authorization"]

    assert asyncio.run(run()) == (("qwen", "llama"), f"Bearer {KEY}")


def test_a_round_trip_is_one_real_small_request() -> None:
    async def run() -> tuple[float, ModelServer]:
        async with ModelServer([text_answer("ready")]) as server:
            model = model_for(server)
            ticks = iter([10.0, 10.5])
            seconds = await round_trip(model, lambda: next(ticks))
            await model.close()
            return seconds, server

    seconds, server = asyncio.run(run())
    assert seconds == 0.5
    assert server.requests[0].json()["max_tokens"] == 16


@pytest.mark.parametrize("answer", [Answer(), Answer([b'data: {"error":"boom"}\n\n'])])
def test_a_round_trip_without_an_answer_is_unavailable(answer: Answer) -> None:
    async def run() -> None:
        async with ModelServer([answer]) as server:
            model = model_for(server)
            try:
                await round_trip(model)
            finally:
                await model.close()

    with pytest.raises(ModelUnavailableError, match="did not answer"):
        asyncio.run(run())
