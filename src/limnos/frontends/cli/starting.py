"""Starting a kernel for a command, and closing it within a limit."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from limnos.agent.settings import load
from limnos.frontends.cli.console import Console
from limnos.service.client import Kernel
from limnos.service.local import local_kernel

_CLOSE_SECONDS = 10.0


class Flags(NamedTuple):
    """Settings that were given on the command line; None leaves them to the other layers."""

    mode: str | None = None
    model: str | None = None
    steps: int | None = None
    max_cost: str | None = None

    def settings(self) -> Mapping[str, str]:
        """As settings keys and texts."""
        named = {"mode": self.mode, "model": self.model, "steps": self.steps, "cap.turn": self.max_cost}
        return {name: str(value) for name, value in named.items() if value is not None}


NO_FLAGS = Flags()


@asynccontextmanager
async def kernel(console: Console, flags: Flags = NO_FLAGS) -> AsyncGenerator[Kernel]:
    """A running kernel with these flags; it is closed within ten seconds."""
    running = local_kernel(load(console.environment, flags.settings()), console.environment)
    try:
        yield running
    finally:
        await _bounded(running.close)


async def _bounded(close: Callable[[], Awaitable[None]]) -> None:
    try:
        await asyncio.wait_for(close(), _CLOSE_SECONDS)
    except TimeoutError:
        return
