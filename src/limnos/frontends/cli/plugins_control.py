"""What only a running limnos can do with plugins."""

from limnos.agent.settings import Environment
from limnos.kernel.errors import LimnosError


class NotRunningError(LimnosError):
    """There is no limnos for this home that could do it."""


def restart(environment: Environment, name: str) -> None:
    """Restart a plugin, also one that crashed too often. Raises LimnosError."""
    raise _not_running(environment, f"{name} cannot be restarted")


def stop(environment: Environment, name: str) -> None:
    """Stop a plugin until somebody restarts it. Raises LimnosError."""
    raise _not_running(environment, f"{name} cannot be stopped")


def _not_running(environment: Environment, what: str) -> NotRunningError:
    return NotRunningError(
        f"{what}: no limnos is running for {environment.home}",
        "a plugin starts and ends with limnos; limnos plugins list shows which would start",
    )
