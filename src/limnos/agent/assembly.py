"""How the loop of an agent is put together: that of a session, and those of its sub-agents."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from limnos.agent.session_jobs import JOBS
from limnos.agent.settings import Settings
from limnos.agent.toolbox.kernel import catalogue_tool
from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.kernel.approvals import Gate
from limnos.kernel.calls import Calls, Toolset
from limnos.kernel.events import Event, JobChanged
from limnos.kernel.loop import Loop
from limnos.kernel.model import Model
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Blobs, Folder, Ids, Validator
from limnos.kernel.stages import Pipeline
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import BLOCKS, Tool
from limnos.kernel.turn import Parts

PINNED = ("kernel", "files", "search", "shell")
QUIET = (BLOCKS, JOBS)
CHARACTERS_PER_TOKEN = 4
INLINE_SHARE = 8  # one inline result takes at most an eighth of the request budget


class Bench(NamedTuple):
    """What all agents of a session work with.

    `prompt` makes a system prompt of the lines of closed tools, and of what a sub-agent is told of itself.
    """

    settings: Settings
    model: Model
    stages: Pipeline
    ids: Ids
    validate: Validator
    blobs: Blobs
    folder: Folder
    prompt: Callable[[Sequence[str], str], str]


class Seat(NamedTuple):
    """What one agent has of its own. `about` is what it is told of itself, empty for that of the session."""

    stream: EventStream
    gate: Gate
    registry: Registry
    catalogue: Catalogue
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


def offer_jobs(catalogue: Catalogue, event: Event) -> None:
    """Offer the tools of background commands from the first one on."""
    if isinstance(event, JobChanged):
        catalogue.touch(JOBS)


def loop_of(bench: Bench, seat: Seat) -> Loop:
    """The loop of one agent, with a window of its own."""
    settings = bench.settings
    window = Engine(
        bench.model,
        seat.catalogue,
        lambda closed: bench.prompt(closed, seat.about),
        WindowSettings(
            settings.window_share, settings.reply_tokens, settings.prune_target, settings.catalogue_share
        ),
    )
    tools = Toolset(
        seat.registry,
        seat.catalogue,
        bench.validate,
        bench.blobs,
        bench.folder,
        inline_characters(settings, window.budget),
    )
    calls = Calls(tools, seat.gate, bench.stages, seat.stream)
    parts = Parts(bench.model, window, calls, bench.stages, seat.stream, bench.ids, settings.reply_tokens)
    return Loop(parts)


def inline_characters(settings: Settings, budget: int) -> int:
    """The longest result that stands whole in a request of `budget` tokens."""
    return min(settings.inline_characters, budget * CHARACTERS_PER_TOKEN // INLINE_SHARE)
