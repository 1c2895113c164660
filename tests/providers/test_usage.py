"""Servers that cut the prompt silently are noticed."""

import asyncio

from limnos.kernel.messages import user
from limnos.kernel.model import Request, Usage
from limnos.providers.openai_codec import Dialect
from limnos.providers.openai_compatible import OpenAICompatible, Surroundings
from limnos.providers.request_body import BodyWriter
from limnos.providers.routes import Route
from limnos.retrieval.tokens import count
from limnos.testing.doubles import FixedClock
from limnos.testing.model_server import ModelServer, text_answer

PROSE = "The lake is warm on top and cold below, and its floor does not move at all. " * 100


def test_the_rough_count_stays_below_the_exact_one() -> None:
    for text in (PROSE, "湖面温暖，湖底寒冷。" * 300, "def f(x):\n    return [x for _ in range(10)]\n" * 100):
        body = BodyWriter(Dialect("local/m")).write({}, Request((user(text),)))
        assert 0.4 * count(text) < body.rough_tokens < 1.1 * count(text)


def test_usage_says_what_was_sent_beside_what_was_read() -> None:
    async def ask() -> list[Usage]:
        async with ModelServer([text_answer("ok")]) as server:
            model = OpenAICompatible(Route("local", server.url, "m"), Surroundings(FixedClock()))
            deltas = [delta async for delta in model.stream(Request((user(PROSE),)))]
            await model.close()
        return [delta for delta in deltas if isinstance(delta, Usage)]

    [usage] = asyncio.run(ask())

    assert usage.expected_tokens > 1500 > usage.prompt_tokens
