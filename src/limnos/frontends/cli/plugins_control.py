"""What only a running limnos can do with plugins."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from limnos.agent.settings import Environment
from limnos.kernel.errors import LimnosError
from limnos.service.client import Kernel, PluginState
from limnos.service.remote import remote_kernel


class NotRunningError(LimnosError):
    """There is no limnos for this home that could do it."""


def states(environment: Environment) -> dict[str, PluginState]:
    """How the plugins of the running daemon do, by name; nothing where none runs. Raises LimnosError."""
    kernel = remote_kernel(environment.home, {})
    if kernel is None:
        return {}
    found = {one.name: one for one in kernel.plugins()}
    asyncio.run(kernel.close())
    return found


def restart(environment: Environment, name: str) -> None:
    """Restart a plugin, also one that crashed too often. Raises LimnosError."""
    _do(environment, f"{name} cannot be restarted", lambda kernel: kernel.restart_plugin(name))


def stop(environment: Environment, name: str) -> None:
    """Stop a plugin until somebody restarts it. Raises LimnosError."""
    _do(environment, f"{name} cannot be stopped", lambda kernel: kernel.stop_plugin(name))


def renew(environment: Environment) -> None:
    """Let a running daemon take in what changed; without one there is nothing to do. Raises LimnosError."""
    kernel = remote_kernel(environment.home, {})
    if kernel is not None:
        asyncio.run(_closing(kernel, kernel.renew_plugins()))


async def _closing(kernel: Kernel, work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    finally:
        await kernel.close()


def _do(environment: Environment, failed: str, work: Callable[[Kernel], Coroutine[Any, Any, None]]) -> None:
    kernel = remote_kernel(environment.home, {})
    if kernel is None:
        raise NotRunningError(
            f"{failed}: no limnos is running for {environment.home}",
            "a plugin starts and ends with limnos; limnos plugins list shows which would start",
        )

    asyncio.run(_closing(kernel, work(kernel)))
