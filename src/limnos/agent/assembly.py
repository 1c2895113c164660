"""How the loop of an agent is put together: that of a session, and those of its sub-agents."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from limnos.agent.session_jobs import JOBS
from limnos.agent.settings import Settings
from limnos.agent.toolbox.kernel import catalogue_tool
from limnos.agent.toolbox.memory import MEMORY, Remembered
from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.context.sources import NOTHING, Sources
from limnos.kernel.approvals import Gate
from limnos.kernel.calls import Calls, Toolset
from limnos.kernel.events import ContextChanged, Event, JobChanged, MemoryRecalled
from limnos.kernel.loop import Loop
from limnos.kernel.model import Model
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Blobs, Folder, Ids, Validator
from limnos.kernel.stages import Pipeline
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import BLOCKS, Tool
from limnos.kernel.turn import Parts

PINNED = ("kernel", "files", "search", "shell")
QUIET = (BLOCKS, JOBS, MEMORY)
CHARACTERS_PER_TOKEN = 4
EMBEDDED = "embedded/"
SMALL_RECALL = 0.04  # of the budget: the embedded model reads about 75 tokens a second
INLINE_SHARE = 8  # one inline result takes at most an eighth of the request budget


class Bench(NamedTuple):
    """What all agents of a session work with.

    `prompt` makes a system prompt of the lines of closed tools, and of what a sub-agent is told of itself.
    `remember` gives the memory of the agent of a stream.
    """

    settings: Settings
    model: Model
    stages: Pipeline
    ids: Ids
    validate: Validator
    blobs: Blobs
    folder: Folder
    prompt: Callable[[Sequence[str], str], str]
    remember: Callable[[EventStream], Remembered]


class Seat(NamedTuple):
    """What one agent has of its own. `about` is what it is told of itself, empty for that of the session."""

    stream: EventStream
    gate: Gate
    registry: Registry
    catalogue: Catalogue
    sources: Sources = NOTHING
    about: str = ""


def register(
    registry: Registry, tools: Sequence[Tool], pinned: Sequence[str] = PINNED, quiet: Sequence[str] = QUIET
) -> Catalogue:
    """Register `tools`; with a group that is not always open comes the tool that opens it."""
    catalogue = Catalogue(registry, pinned, quiet)
    for tool in tools:
        registry.register(tool)
    if any(plugin not in (*pinned, *quiet) for plugin in catalogue.plugins()):
        registry.register(catalogue_tool(catalogue))
    return catalogue


def offer_more(catalogue: Catalogue, event: Event) -> None:
    """Offer the tools of background commands and of memory once there is something that they work on."""
    match event:
        case JobChanged():
            catalogue.touch(JOBS)
        case MemoryRecalled():
            catalogue.touch(MEMORY)
        case ContextChanged() if event.sunk:
            catalogue.touch(MEMORY)
        case _:
            pass


def engine_of(bench: Bench, seat: Seat) -> Engine:
    """The context engine of one agent."""
    settings = bench.settings
    small = bench.model.name.startswith(EMBEDDED)
    return Engine(
        bench.model,
        seat.catalogue,
        lambda closed: bench.prompt(closed, seat.about),
        WindowSettings(
            share=settings.window_share,
            reserve=settings.reply_tokens,
            prune_target=settings.prune_target,
            catalogue_share=settings.catalogue_share,
            overflow_ratio=settings.overflow,
            ledger_share=settings.ledger_share,
            newest=settings.newest,
            recall_share=min(settings.recall_share, SMALL_RECALL) if small else settings.recall_share,
        ),
        seat.sources,
    )


def loop_of(bench: Bench, seat: Seat, engine: Engine) -> Loop:
    """The loop of one agent, with a window of its own."""
    settings = bench.settings
    tools = Toolset(
        seat.registry,
        seat.catalogue,
        bench.validate,
        bench.blobs,
        bench.folder,
        inline_characters(settings, engine.budget),
    )
    calls = Calls(tools, seat.gate, bench.stages, seat.stream)
    parts = Parts(bench.model, engine, calls, bench.stages, seat.stream, bench.ids, settings.reply_tokens)
    return Loop(parts)


def inline_characters(settings: Settings, budget: int) -> int:
    """The longest result that stands whole in a request of `budget` tokens."""
    return min(settings.inline_characters, budget * CHARACTERS_PER_TOKEN // INLINE_SHARE)
