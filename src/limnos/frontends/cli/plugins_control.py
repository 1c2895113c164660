"""What only a running limnos can do with plugins."""

from collections.abc import Iterator

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


def log_lines(environment: Environment, name: str, most: int) -> Iterator[str]:
    """The newest lines that a plugin wrote, at most so many. Raises LimnosError."""
    raise _not_running(environment, f"the newest {most} lines of {name} cannot be read")


def _not_running(environment: Environment, what: str) -> NotRunningError:
    return NotRunningError(
        f"{what}: no limnos is running for {environment.home}",
        "a plugin starts and ends with limnos; limnos plugins list shows which would start",
    )
