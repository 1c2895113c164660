"""What is told of sub-agents, beside their own replies and calls. The envelope's `agent` says which one."""

from collections.abc import Sequence
from typing import ClassVar

from limnos.kernel.event_base import Event


class AgentStarted(Event):
    """A sub-agent began, for the call `call` of the agent above it.

    `tools` are those it was given by name; empty: all that a sub-agent has.
    """

    type: ClassVar[str] = "agent_started"

    call: str
    role: str
    task: str
    model: str
    max_steps: int
    tools: Sequence[str] = ()


class AgentFinished(Event):
    """The one end of a sub-agent. `reason` is one of `turn_finished`, or interrupted: limnos ended first.

    `tokens` and `cost` are its own and those of its sub-agents; they count in its turn too. `had_effects`: a
    call of it that changes something ran. `block` holds an answer that was too long to be handed back whole.
    """

    type: ClassVar[str] = "agent_finished"

    call: str
    role: str
    reason: str
    steps: int
    calls: int
    tokens: int
    ms: int = 0
    cost: str = "0"
    currency: str = "USD"
    message: str = ""
    had_effects: bool = False
    block: str | None = None
