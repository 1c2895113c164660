import asyncio
import json
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from limnos.kernel.errors import (
    ContextOverflowError,
    ModelBusyError,
    ModelError,
    ModelRefusedError,
    ModelRequestError,
    ModelUnavailableError,
)
from limnos.kernel.messages import Message, Reasoning, Text, user
from limnos.kernel.model import Notice, Request, Usage
from limnos.providers.openai_compatible import OpenAICompatible, Surroundings
from limnos.providers.rate import Bucket
from limnos.providers.routes import Route, Secret
from limnos.testing.model_server import (
    JSON,
    Answer,
    ModelServer,
    call_answer,
    delta,
    error_answer,
    sse,
    text_answer,
)

from .support import KEY, Heard, StillClock, asking, hear, model_for

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


def talk(*answers: Answer, clock: StillClock | None = None, **settings: Any) -> tuple[Heard, ModelServer]:
    """One request to a server that gives `answers`."""

    async def run() -> tuple[Heard, ModelServer]:
        async with ModelServer(answers) as server:
            model = model_for(server, clock, **settings)
            try:
                return await hear(model, asking("read")), server
            finally:
                await model.close()

    return asyncio.run(run())


def fail(kind: type[ModelError], *answers: Answer, clock: StillClock | None = None, **settings: Any) -> Any:
    """The error of one request to a server that gives `answers`."""
    with pytest.raises(kind) as caught:
        talk(*answers, clock=clock, **settings)
    assert KEY not in f"{caught.value!r} {caught.value.what} {caught.value.fix}"
    assert caught.value.fix
    return caught.value


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_reply_is_streamed_and_the_request_says_what_was_asked() -> None:
    heard, server = talk(text_answer("Hello there"), max_tokens_field="max_tokens", extra={"seed": 7})
    assert heard.text == "Hello there"
    assert heard.usage == Usage(5, 2)
    assert heard.finish.reason == "stop"
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json()
    assert body["model"] == "m"
    assert body["messages"] == [{"role": "user", "content": "go"}]
    assert body["stream_options"] == {"include_usage": True}
    assert body["tools"][0]["function"]["name"] == "read"
    assert (body["max_tokens"], body["seed"]) == (1024, 7)


def test_one_connection_serves_many_requests() -> None:
    async def run() -> int:
        async with ModelServer([text_answer("a"), call_answer("read", {"p": 1}), text_answer("b")]) as server:
            model = model_for(server)
            for _ in range(3):
                await hear(model)
            await model.close()
            return server.connections

    assert asyncio.run(run()) == 1


def test_an_empty_key_sends_no_authorization() -> None:
    _, server = talk(text_answer("ok"), api_key=Secret(""))
    assert not {"authorization", "x-api-key"} & set(server.requests[0].headers)


def test_headers_of_the_settings_go_along_and_may_carry_the_authorization() -> None:
    _, server = talk(text_answer("ok"), headers={"Authorization": "Basic made-up", "X-Title": "t"})
    assert server.requests[0].headers["authorization"] == "Basic made-up"
    assert server.requests[0].headers["x-title"] == "t"


def test_a_proxy_variable_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port()}")
    assert talk(text_answer("direct"))[0].text == "direct"


def test_a_refused_key_is_tried_once_as_x_api_key_and_that_is_remembered() -> None:
    async def run() -> ModelServer:
        async with ModelServer([error_answer(401, "no"), text_answer("a"), text_answer("b")]) as server:
            model = model_for(server)
            assert (await hear(model)).text == "a"
            assert (await hear(model)).text == "b"
            await model.close()
            return server

    first, second, third = asyncio.run(run()).requests
    assert first.headers["authorization"] == f"Bearer {KEY}"
    for later in (second, third):
        assert later.headers["x-api-key"] == KEY
        assert "authorization" not in later.headers


def test_a_key_that_was_refused_in_both_ways_is_sent_as_before_the_next_time() -> None:
    async def run() -> ModelServer:
        no = error_answer(401, "not now")
        async with ModelServer([no, no, text_answer("a")]) as server:
            model = model_for(server)
            with pytest.raises(ModelRefusedError):
                await hear(model)
            assert (await hear(model)).text == "a"
            await model.close()
            return server

    requests = asyncio.run(run()).requests
    assert ["x-api-key" in request.headers for request in requests] == [False, True, False]


@pytest.mark.parametrize("answers", [[error_answer(401, f"bad key {KEY}")] * 2, [error_answer(403, "no")]])
def test_a_refused_key_names_where_it_came_from_and_its_last_four_characters(answers: list[Answer]) -> None:
    error = fail(ModelRefusedError, *answers)
    assert "TEST_KEY" in error.what
    assert KEY[-4:] in error.what
    assert "TEST_KEY" in error.fix


def test_no_credit_is_refused_without_waiting() -> None:
    clock = StillClock()
    body = json.dumps({"error": {"message": "no credit", "code": "insufficient_quota"}}).encode()
    fail(ModelRefusedError, Answer([body], 429, JSON), clock=clock)
    fail(ModelRefusedError, error_answer(402, "no credit"), clock=clock)
    assert clock.waits == []


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("7", 7.0),
        ("0", None),
        ("1.5", 1.5),
        ("Wed, 21 Oct 2026 07:27:50 GMT", 20.0),
        ("-3", None),
        ("soon", 1.0),
        ("NaN", 1.0),
        ("", 1.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_is_asked_again_when_it_says(status: int, header: str, wait: float | None) -> None:
    clock = StillClock()
    heard, _ = talk(error_answer(status, "busy", retry_after=header), text_answer("ok"), clock=clock)
    assert heard.text == "ok"
    assert clock.waits == ([] if wait is None else [wait])


def test_a_person_is_told_what_is_waited_for_how_long_and_why() -> None:
    heard, _ = talk(error_answer(429, "slow down", retry_after="20"), text_answer("ok"), clock=StillClock())
    notices = [delta for delta in heard.deltas if isinstance(delta, Notice)]
    assert heard.deltas[0] is notices[0]
    assert [(notice.code, notice.text) for notice in notices] == [
        ("model_busy", "waiting 20 s: test/m answered 429: slow down")
    ]
    assert notices[0].fix


def test_who_shares_the_key_is_told_of_the_pause_too() -> None:
    async def story() -> Heard:
        clock = StillClock()
        bucket = Bucket(clock)
        bucket.pause(30)
        async with ModelServer([text_answer("ok")]) as server:
            model = OpenAICompatible(Route("test", server.url, "m"), Surroundings(clock, bucket))
            heard = await hear(model)
            await model.close()
        return heard

    heard = asyncio.run(story())
    (notice,) = [delta for delta in heard.deltas if isinstance(delta, Notice)]
    assert notice.text == "waiting 30 s: the server of test asked for a pause"
    assert heard.text == "ok"


def test_a_wait_that_is_over_at_once_is_not_told() -> None:
    heard, _ = talk(error_answer(429, "busy", retry_after="1"), text_answer("ok"), clock=StillClock())
    assert not [delta for delta in heard.deltas if isinstance(delta, Notice)]


def test_without_a_word_from_the_server_each_wait_is_twice_the_one_before() -> None:
    clock = StillClock()
    error = fail(ModelBusyError, *[error_answer(429, f"busy {n}") for n in (1, 2, 3)], clock=clock)
    assert clock.waits == [1.0, 2.0]
    assert "busy 3" in error.what
    assert "3 times" in error.what


def test_waiting_ends_when_all_waits_together_would_be_too_long() -> None:
    clock = StillClock()
    answers = [error_answer(429, "busy", retry_after="200"), error_answer(429, "busy", retry_after="200")]
    assert fail(ModelBusyError, *answers, clock=clock).retry_after == 200
    assert clock.waits == [200.0]


@pytest.mark.parametrize("status", [500, 502, 504, 408])
def test_a_server_fault_is_unavailable_and_shown(status: int) -> None:
    error = fail(ModelUnavailableError, error_answer(status, "backend exploded"))
    assert "backend exploded" in error.what
    assert str(status) in error.what


def test_a_wrong_model_name_says_which_setting_to_check() -> None:
    error = fail(ModelRequestError, error_answer(404, "no model m"))
    assert "providers.test.model" in error.fix


def test_a_redirect_is_not_followed() -> None:
    answer = Answer((), 307, {"location": "http://127.0.0.1:9/elsewhere", "content-length": "0"})
    assert "redirect" in fail(ModelRequestError, answer).what


def test_a_web_page_instead_of_a_reply_points_at_the_address() -> None:
    page = Answer([b"<html>hello</html>"], 200, {"content-type": "text/html; charset=utf-8"})
    assert "base_url" in fail(ModelUnavailableError, page).fix


def test_nobody_listening_is_unavailable() -> None:
    async def run() -> None:
        await hear(model_for(f"http://127.0.0.1:{unused_port()}"))

    with pytest.raises(ModelUnavailableError, match="no connection"):
        asyncio.run(run())


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        ("stream_options", "Unknown parameter: 'stream_options'"),
        ("temperature", "temperature is not supported"),
    ],
)
def test_a_field_that_the_server_refuses_is_left_out_from_then_on(refused: str, message: str) -> None:
    async def run() -> ModelServer:
        async with ModelServer([error_answer(400, message), text_answer("a"), text_answer("b")]) as server:
            model = model_for(server)
            await hear(model)
            await hear(model)
            await model.close()
            return server

    bodies = [request.json() for request in asyncio.run(run()).requests]
    assert [refused in body for body in bodies] == [True, False, False]


def test_the_newer_name_of_the_reply_limit_is_learnt() -> None:
    message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    _, server = talk(error_answer(400, message), text_answer("a"))
    assert "max_tokens" not in server.requests[1].json()
    assert server.requests[1].json()["max_completion_tokens"] == 1024


def test_a_field_is_left_out_once_only() -> None:
    error = fail(ModelRequestError, *[error_answer(400, "stream_options is wrong")] * 2)
    assert "stream_options" in error.what


def test_a_request_beyond_the_window_names_the_window() -> None:
    error = fail(
        ContextOverflowError, error_answer(400, "This model's maximum context length is 4096 tokens.")
    )
    assert error.limit == 4096


# --- servers that hang, break off or send garbage ---


@pytest.mark.parametrize("silent", [True, False])
def test_a_server_that_hangs_ends_within_the_time_limit(silent: bool) -> None:
    answer = Answer([sse(delta(content="a"), done=False)], ends="hang", silent=silent)
    if silent:
        error = fail(ModelUnavailableError, answer, timeout_s=0.3)
        assert "timeout_s" in error.fix
        return
    heard, _ = talk(answer, timeout_s=0.3)
    assert (heard.text, heard.finish.reason) == ("a", "incomplete")
    assert "no answer in time" in heard.finish.detail


def test_a_server_that_says_the_end_and_then_hangs_is_not_waited_for() -> None:
    heard, _ = talk(Answer([sse(delta("stop", content="a"))], ends="hang"), timeout_s=30.0)
    assert heard.finish.reason == "stop"


def test_keep_alives_alone_do_not_keep_a_reply_alive() -> None:
    class Ticking(StillClock):
        def monotonic(self) -> float:
            self.passed += 100
            return self.passed

    async def run() -> Heard:
        async with ModelServer([Answer([b": still here\n\n"] * 5, ends="hang")]) as server:
            model = model_for(server, Ticking())
            heard = await hear(model)
            await model.close()
            return heard

    heard = asyncio.run(run())
    assert heard.finish.reason == "incomplete"
    assert "keep-alives" in heard.finish.detail


@pytest.mark.parametrize("ends", ["early", "reset"])
def test_a_reply_that_breaks_off_keeps_its_text_and_runs_nothing(ends: Any) -> None:
    call = delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}])
    heard, _ = talk(Answer([sse(delta(content="par"), call, done=False)], ends=ends))
    assert (heard.text, heard.finish.reason) == ("par", "incomplete")
    assert not heard.finish.runnable


@pytest.mark.parametrize("ends", ["early", "reset"])
def test_a_reply_that_breaks_off_after_its_end_is_whole(ends: Any) -> None:
    heard, _ = talk(Answer([sse(delta("stop", content="all"), done=False)], ends=ends))
    assert (heard.text, heard.finish.reason) == ("all", "stop")


def test_a_kept_connection_that_died_is_replaced_once() -> None:
    async def run() -> None:
        async with asyncio.timeout(5):
            server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
            async with server:
                port = server.sockets[0].getsockname()[1]
                with pytest.raises(ModelUnavailableError, match="broke"):
                    await hear(model_for(f"http://127.0.0.1:{port}"))

    connections: list[int] = []

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    asyncio.run(run())
    assert len(connections) == 2


@pytest.mark.parametrize(
    "body", [b"\x00\xff\xfe" * 50, b"data: {]\n\n", b"<!doctype html>", b"{", b"[]", b"null"]
)
def test_garbage_is_incomplete_and_never_an_exception(body: bytes) -> None:
    heard, _ = talk(Answer([body]))
    assert heard.finish.reason == "incomplete"
    assert heard.text == ""


def test_an_endless_line_is_an_error_and_not_kept_in_memory() -> None:
    heard, _ = talk(Answer([b"data: " + b"x" * 300_000] * 5, ends="hang"), timeout_s=30.0)
    assert heard.finish.reason == "error"
    assert "more than 1048576 bytes" in heard.finish.detail


def test_a_compressed_body_is_not_unpacked() -> None:
    heard, _ = talk(Answer([b"\x1f\x8b" + b"x" * 50], 200, {"content-encoding": "gzip"}))
    assert heard.finish.reason == "incomplete"
    assert "compress" in heard.finish.detail or "plain" in heard.finish.detail


def test_an_error_page_is_shortened_and_shown_without_control_characters() -> None:
    error = fail(ModelUnavailableError, Answer([b"\x1b[31mboom\r\n" + b"x" * 200_000], 500, {}))
    assert "boom" in error.what
    assert error.what.isprintable()
    assert len(error.what) < 500


def test_a_server_that_does_not_stream_is_answered_all_the_same() -> None:
    body = json.dumps({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}).encode()
    heard, _ = talk(Answer([body], 200, JSON))
    assert (heard.text, heard.finish.reason) == ("whole", "stop")


def test_closing_the_iterator_closes_the_connection() -> None:
    async def run() -> None:
        gone = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + sse(delta(content="a"), done=False))
            while await reader.read(4096):
                pass
            gone.set()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            model = model_for(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            deltas = model.stream(asking())
            await anext(deltas)
            await deltas.aclose()
            async with asyncio.timeout(5):
                await gone.wait()
            await model.close()

    asyncio.run(run())


def test_reasoning_goes_back_only_where_the_route_wants_it() -> None:
    thought = Message("assistant", (Reasoning("hm", None, "test/m"), Text("a")))
    plain = Message("assistant", (Text("b"),))
    request = Request((user("1"), thought, user("2"), plain, user("3")))

    async def sent(policy: str) -> list[Any]:
        async with ModelServer([text_answer("ok")]) as server:
            model = model_for(server, reasoning=policy)
            await hear(model, request)
            await model.close()
            return [item.get("reasoning_content") for item in server.requests[0].json()["messages"]]

    assert asyncio.run(sent("drop")) == [None] * 5
    assert asyncio.run(sent("keep")) == [None, "hm", None, None, None]
    assert asyncio.run(sent("pad")) == [None, "hm", None, "", None]


def test_a_lone_surrogate_in_the_conversation_never_reaches_the_server() -> None:
    async def run() -> str:
        async with ModelServer([text_answer("ok")]) as server:
            model = model_for(server)
            await hear(model, asking(text="a\ud83db"))
            await model.close()
            return str(server.requests[0].json()["messages"][0]["content"])

    assert asyncio.run(run()) == "a\ufffdb"


def test_it_is_a_model() -> None:
    model = model_for("http://127.0.0.1:1", context_tokens=4096)
    assert (model.name, model.context_tokens) == ("test/m", 4096)
    assert 2 <= model.count_tokens("hello world") <= 4
    close: Callable[[], Awaitable[None]] = model.close
    asyncio.run(_twice(close))
    assert isinstance(model, OpenAICompatible)


async def _twice(close: Callable[[], Awaitable[None]]) -> None:
    await close()
    await close()


def test_a_local_server_that_still_loads_its_model_is_waited_for() -> None:
    loading = error_answer(503, "Loading model")

    async def run() -> tuple[str, list[float], list[str]]:
        clock = StillClock()
        async with ModelServer([loading] * 7 + [text_answer("here")]) as server:
            model = model_for(server, clock=clock)
            heard = await hear(model, asking())
            await model.close()
        told = [delta.code for delta in heard.deltas if isinstance(delta, Notice)]
        return heard.text, clock.waits, told

    assert asyncio.run(run()) == ("here", [1.0] * 7, ["model_loading"])
