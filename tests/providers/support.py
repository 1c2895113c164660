"""What the provider tests share: a clock that never waits, routes to a loopback server, a listener."""

from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from limnos.kernel.messages import user
from limnos.kernel.model import Delta, Finish, ReasoningDelta, Request, TextDelta, ToolSpec, Usage
from limnos.providers.openai_compatible import OpenAICompatible, Surroundings
from limnos.providers.retry import Backoff
from limnos.providers.routes import Route, Secret
from limnos.testing.model_server import ModelServer

CASES = Path(__file__).parents[2] / ".." / "shared" / "cases"
START = datetime(2026, 10, 21, 7, 27, 30, tzinfo=UTC)
KEY = "k-0123456789-made-up-WXYZ"


class StillClock:
    """Time moves only when somebody sleeps; every wait is noted."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self.passed = 0.0

    def now(self) -> str:
        return self.later(0)

    def later(self, seconds: float) -> str:
        return (START + timedelta(seconds=self.passed + seconds)).isoformat()

    def monotonic(self) -> float:
        return self.passed

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.passed += seconds


@dataclass
class Heard:
    """A whole reply, put together."""

    deltas: list[Delta] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ReasoningDelta))

    @property
    def usage(self) -> Usage | None:
        return next((delta for delta in self.deltas if isinstance(delta, Usage)), None)

    @property
    def finish(self) -> Finish:
        (finish,) = [delta for delta in self.deltas if isinstance(delta, Finish)]
        assert self.deltas[-1] is finish
        return finish


def model_for(
    server: ModelServer | str, clock: StillClock | None = None, **settings: Any
) -> OpenAICompatible:
    """A provider that talks to `server`; its back-off has no jitter."""
    base = server if isinstance(server, str) else server.url
    settings.setdefault("api_key", Secret(KEY, "TEST_KEY"))
    route = Route("test", base, "m", **settings)
    return OpenAICompatible(route, Surroundings(clock or StillClock(), backoff=Backoff(jitter=lambda: 0.0)))


def asking(*tools: str, text: str = "go") -> Request:
    """A request that offers `tools`."""
    return Request((user(text),), tuple(ToolSpec(name, name, {"type": "object"}) for name in tools))


async def hear(model: Any, request: Request | None = None) -> Heard:
    """The whole reply to `request`."""
    heard = Heard()
    async with aclosing(model.stream(request or asking())) as deltas:
        async for delta in deltas:
            heard.deltas.append(delta)
    return heard
