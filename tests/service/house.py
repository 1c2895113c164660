"""A whole limnos in a temporary home: the real kernel behind its door, and a model that follows a script."""

import asyncio
import json
import os
import select
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from limnos.agent.clock import SystemClock
from limnos.agent.replay import Divergence, verify
from limnos.agent.settings import Environment, load, read_environment
from limnos.kernel.conversation import Conversation, fold
from limnos.kernel.events import ApprovalAsked, Event, TurnFinished
from limnos.kernel.seams import Answer
from limnos.service.client import Kernel, OpenRequest, Send, Session
from limnos.service.local import local_kernel
from limnos.store.audit import read_history

SECONDS = 30
T = TypeVar("T")
E = TypeVar("E", bound=Event)
React = Callable[[Session, Event], None]


_kernels: list[Kernel] = []


def run(work: Coroutine[Any, Any, T], seconds: float = SECONDS) -> T:
    """Run `work` to its end, and close the kernels it left open; a hang is a failure."""

    async def whole() -> T:
        try:
            return await asyncio.wait_for(work, seconds)
        finally:
            while _kernels:
                await asyncio.wait_for(_kernels.pop().close(), SECONDS)

    return asyncio.run(whole())


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """A call of a script."""
    return {"name": name, "arguments": arguments}


def step(text: str = "", *calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A reply of a script."""
    return {"text": text, "calls": list(calls), **more}


def answering(verdict: str, **more: Any) -> React:
    """Answer every question in one way."""

    def react(session: Session, event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            assert session.answer(event.approval, Answer(verdict, source="test", **more))

    return react


def is_gone(process: int) -> bool:
    """Whether a process ends, now or within seconds: the system may still be about to end it."""
    try:
        descriptor = os.pidfd_open(process)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 10)[0])
    finally:
        os.close(descriptor)


def silent(session: Session, event: Event) -> None:
    """Do nothing."""


def of_type(events: Sequence[Event], kind: type[E]) -> list[E]:
    """The events of one kind."""
    return [event for event in events if isinstance(event, kind)]


@dataclass
class House:
    """A home and a working folder."""

    root: Path
    scripts: int = 0
    variables: dict[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.home, self.work = self.root / "home", self.root / "work"
        self.home.mkdir(parents=True, exist_ok=True)
        self.work.mkdir(exist_ok=True)

    def environment(self, *steps: dict[str, Any], **settings: object) -> Environment:
        """What a process of this home is started with; settings as `turn_seconds=5`."""
        self.scripts += 1
        script = self.root / f"script{self.scripts}.json"
        tokens = settings.pop("context_tokens", 16_384)
        script.write_text(json.dumps({"steps": list(steps), "context_tokens": tokens}))
        given = {f"LIMNOS_{name.upper()}": str(value) for name, value in settings.items()}
        return read_environment(
            {
                "HOME": str(self.root),
                "LIMNOS_HOME": str(self.home),
                "PATH": os.environ["PATH"],
                "TZ": "UTC",
                "LIMNOS_MODEL": f"scripted:{script}",
                "LIMNOS_MEMORY_EMBEDDER": "off",
                **given,
                **self.variables,
            }
        )

    def kernel(self, *steps: dict[str, Any], **settings: object) -> Kernel:
        """A kernel whose model follows `steps`."""
        environment = self.environment(*steps, **settings)
        kernel = local_kernel(load(environment), environment)
        _kernels.append(kernel)
        return kernel

    async def open(self, kernel: Kernel, **how: Any) -> "Talk":
        """Open a session in the working folder; what it holds already counts as heard."""
        session = await kernel.open(OpenRequest(cwd=str(self.work), **how))
        before = await session.history() if "session" in how else ()
        return Talk(session, list(before))

    def divergence(self, talk: "Talk") -> Divergence | None:
        """What a replay of the session finds."""
        return verify(Path(talk.session.path), SystemClock()).divergence


@dataclass
class Talk:
    """A person at one session: says something, reacts, remembers everything heard."""

    session: Session
    heard: list[Event] = field(default_factory=list[Event])
    said: int = 0

    async def say(
        self, text: str, react: React = silent, until: type[Event] = TurnFinished, **more: str
    ) -> TurnFinished:
        """Send an input and listen until its turn has ended."""
        self.send(text, **more)
        return await self.ended(react, until)

    def send(self, text: str, **more: str) -> None:
        """Send an input."""
        self.said += 1
        self.session.send(Send(text, more.pop("client_id", f"m{self.said}"), "test", **more))

    async def ended(self, react: React = silent, until: type[Event] = TurnFinished) -> Any:
        """Listen until an event of the kind `until`, and return it."""
        after = self.heard[-1].seq if self.heard else 0
        async with aclosing(self.session.events(after)) as events:  # pyright: ignore[reportArgumentType]
            async for event in events:
                self.heard.append(event)
                react(self.session, event)
                if isinstance(event, until):
                    return event
        raise AssertionError(f"the session ended without {until.__name__}")

    def of(self, kind: type[E]) -> list[E]:
        """What was heard, of one kind."""
        return of_type(self.heard, kind)

    @property
    def conversation(self) -> Conversation:
        """The conversation as it stands on the disk."""
        return fold(read_history(Path(self.session.path)).events)
