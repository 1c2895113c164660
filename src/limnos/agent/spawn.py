"""spawn_agent: a task for a sub-agent, which has a context of its own and the same gate."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from limnos.agent.assembly import Bench, Seat
from limnos.kernel.cancel import Cancel
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Execute, Output, Tool, ToolContext, ToolFailure
from limnos.kernel.turn import Turn
from limnos.sdk.schema import object_schema

SPAWN: Final = "spawn_agent"
AGENTS: Final = "agents"  # the group of the tool
DEPTH: Final = 2
AT_ONCE: Final = 3
STEPS, MOST_STEPS = 8, 12
TASK_CHARACTERS, ROLE_CHARACTERS = 20_000, 60
DAY_S: Final = 86_400.0  # the caps of the turn end it sooner


class Order(NamedTuple):
    """What a sub-agent is to do, for which call, with how many steps and, if not all, which tools."""

    call: str
    task: str
    role: str
    steps: int
    tools: tuple[str, ...]


class Worker(Protocol):
    """A sub-agent at work."""

    @property
    def cancel(self) -> Cancel:
        """What stops it."""
        ...

    async def work(self) -> Output:
        """Do the task; may be called once. Raises errors.StorageError."""
        ...


# Of the bench, the seat and the turn of the agent above, what is to be done, and how deep it is, from 1.
# Raises ToolFailure for tools that it cannot have.
Begin: TypeAlias = Callable[[Bench, Seat, Turn, Order, int], Worker]


class Spawner:
    """Begins the sub-agents of one agent, at most three at once. `depth` is how deep these are, from 1."""

    def __init__(self, bench: Bench, begin: Begin, depth: int = 1) -> None:
        self._bench = bench
        self._begin = begin
        self._depth = depth
        self._seat: Seat | None = None
        self._turn: Callable[[], Turn | None] = _no_turn
        self._places = asyncio.Semaphore(AT_ONCE)

    def serve(self, seat: Seat, turn: Callable[[], Turn | None]) -> None:
        """Begin them for the agent of this seat, in its turn of the moment."""
        self._seat, self._turn = seat, turn

    def tool(self) -> Tool:
        """The tool that a model calls."""
        return spawn_tool(self._spawn)

    async def _spawn(self, arguments: Arguments, context: ToolContext) -> Output:
        seat, turn = self._seat, self._turn()
        if seat is None or turn is None:
            raise ToolFailure(
                "unavailable", "no turn runs that a sub-agent could work for", "answer yourself"
            )
        order = Order(
            context.call,
            arguments["task"],
            " ".join(arguments.get("role", "").split()) or "helper",
            arguments.get("max_steps", STEPS),
            tuple(dict.fromkeys(arguments.get("tools", ()))),
        )
        async with self._places:
            child = self._begin(self._bench, seat, turn, order, self._depth)
            return await _carried(child.work(), turn.cancel, child.cancel)


async def _carried(work: Coroutine[Any, Any, Output], above: Cancel, cancel: Cancel) -> Output:
    """Await the work of a sub-agent. When this is cancelled it is stopped, and closes what is open of it.

    It is a task of its own: a cancellation that went through it would leave its calls without results.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():  # each further cancellation hurries it
            cancel.request(above.reason or "terminated")
            with suppress(asyncio.CancelledError):
                await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # a disk that is full: the turn meets it too, and says so
        raise


def _no_turn() -> Turn | None:
    return None


def spawn_tool(execute: Execute) -> Tool:
    """spawn_agent, done by `execute`."""
    return Tool(
        SPAWN,
        "Give a task to a sub-agent, which works on its own and returns its answer. It sees nothing of this"
        " conversation: put all it needs into the task. Up to three neighbouring calls run side by side.",
        object_schema(
            ["task"],
            task={
                "type": "string",
                "minLength": 1,
                "maxLength": TASK_CHARACTERS,
                "description": "the whole task, and what the answer should hold",
            },
            role={
                "type": "string",
                "maxLength": ROLE_CHARACTERS,
                "description": "what it is, in a word or two: reviewer, searcher",
            },
            max_steps={
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_STEPS,
                "description": f"steps it may take; {STEPS} if absent",
            },
            tools={
                "type": "array",
                "items": {"type": "string"},
                "description": "names of the only tools it may use; all of yours if absent",
            },
        ),
        execute,
        parallel_safe=True,
        private=True,
        timeout_s=DAY_S,
        after_timeout="killed",
        plugin=AGENTS,
    )
