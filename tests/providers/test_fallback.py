import asyncio
from collections.abc import AsyncIterator, Sequence
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
from limnos.kernel.model import Delta, Finish, Notice, Request, TextDelta
from limnos.providers.fallback import Fallback
from limnos.testing.model_server import ModelServer, error_answer, text_answer

from .support import asking, hear, model_for


class Told:
    """A model that raises or says what it is told, once for each request."""

    def __init__(self, name: str, *replies: ModelError | Sequence[Delta], window: int = 1000) -> None:
        self.name = name
        self.context_tokens = window
        self.replies = list(replies)
        self.asked = 0
        self.closed = 0

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        self.asked += 1
        reply = self.replies.pop(0)
        if isinstance(reply, ModelError):
            raise reply
        for delta in reply:
            yield delta

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def close(self) -> None:
        self.closed += 1


OK = [TextDelta("ok"), Finish("stop")]
DOWN = ModelUnavailableError("a is down", "start a")


class Announced(Told):
    """A model that says something to the person before it fails."""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield Notice("model_busy", "waiting 20 s: a is busy")
        async for delta in super().stream(request):
            yield delta


def test_a_notice_does_not_begin_a_reply() -> None:
    heard = asyncio.run(hear(Fallback([Announced("a/1", DOWN), Told("b/2", OK)])))
    assert heard.deltas == [Notice("model_busy", "waiting 20 s: a is busy"), *OK]
    heard = asyncio.run(hear(Fallback([Announced("a/1", [Finish("error")]), Told("b/2", OK)])))
    assert heard.text == "ok"


def said(chain: Fallback) -> str:
    return asyncio.run(hear(chain)).text


@pytest.mark.parametrize(
    "error", [DOWN, ModelBusyError("a is busy", "wait", 7.0), ModelRefusedError("no key", "set it")]
)
def test_the_next_model_answers_when_the_first_can_not(error: ModelError) -> None:
    first, second = Told("a/1", error), Told("b/2", OK, window=77)
    chain = Fallback([first, second])
    assert said(chain) == "ok"
    assert (chain.name, chain.context_tokens) == ("b/2", 77)


def test_an_unavailable_model_is_asked_again_next_time_and_a_refused_one_never() -> None:
    down, refused, good = (
        Told("a/1", DOWN, OK),
        Told("b/2", ModelRefusedError("no", "set")),
        Told("c/3", OK, OK),
    )
    chain = Fallback([refused, down, good])
    assert [said(chain), said(chain)] == ["ok", "ok"]
    assert (refused.asked, down.asked, good.asked) == (1, 2, 1)


@pytest.mark.parametrize(
    "error",
    [ContextOverflowError("too large", "shorten", 4096), ModelRequestError("bad request", "change it")],
)
def test_an_error_about_the_request_goes_straight_up(error: ModelError) -> None:
    second = Told("b/2", OK)
    with pytest.raises(type(error)):
        said(Fallback([Told("a/1", error), second]))
    assert second.asked == 0


def test_a_reply_that_is_only_an_error_counts_as_no_reply() -> None:
    chain = Fallback([Told("a/1", [Finish("error", detail="overloaded")]), Told("b/2", OK)])
    assert said(chain) == "ok"


@pytest.mark.parametrize("reason", ["error", "incomplete"])
def test_an_answer_that_began_is_never_given_to_another_model(reason: Any) -> None:
    second = Told("b/2", OK)
    heard = asyncio.run(hear(Fallback([Told("a/1", [TextDelta("half"), Finish(reason)]), second])))
    assert (heard.text, heard.finish.reason, second.asked) == ("half", reason, 0)


def test_when_nobody_answers_the_error_names_all() -> None:
    busy = ModelBusyError("b is busy", "wait")
    with pytest.raises(ModelUnavailableError) as caught:
        said(Fallback([Told("a/1", DOWN), Told("b/2", busy)]))
    assert "a is down" in caught.value.what
    assert "b is busy" in caught.value.what
    assert caught.value.fix == "start a"


def test_when_all_were_refused_that_is_what_it_says() -> None:
    chain = Fallback(
        [Told("a/1", ModelRefusedError("no a", "x")), Told("b/2", ModelRefusedError("no b", "y"))]
    )
    for _ in range(2):
        with pytest.raises(ModelRefusedError, match=r"no a.*no b"):
            said(chain)


def test_one_model_fails_as_itself() -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        said(Fallback([Told("a/1", DOWN)]))
    assert caught.value is DOWN


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Fallback([])


def test_all_models_are_closed() -> None:
    models = [Told("a/1"), Told("b/2")]
    asyncio.run(Fallback(models).close())
    assert [model.closed for model in models] == [1, 1]


def test_real_servers_one_behind_the_other() -> None:
    async def run() -> str:
        async with ModelServer([error_answer(500, "down")]) as one, ModelServer([text_answer("two")]) as two:
            chain = Fallback([model_for(one), model_for(two)])
            heard = await hear(chain, asking())
            await chain.close()
            return heard.text

    assert asyncio.run(run()) == "two"
