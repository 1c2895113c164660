"""The tools of one session: those of the plugins as the gate sees them, and the kernel's own."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from limnos.agent.edit_history import History, Undone, in_loop
from limnos.agent.plugins import Plugins
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.settings import Environment, Settings
from limnos.agent.toolbox.kernel import block_tool, clock_tool, plan_tool
from limnos.agent.toolbox.shell import JOBS
from limnos.agent.toolbox.views import Views, views_of
from limnos.agent.workbench import commands_of
from limnos.kernel.events import Event, PlanUpdated
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Tool
from limnos.plugins.offered import FileChange, SessionSide
from limnos.plugins.places import data_of
from limnos.sdk.files import Files

FIRST = ("files", "search", "shell")  # models see their tools first, in this order


class Ground(NamedTuple):
    """What the tools of all sessions stand on."""

    environment: Environment
    clock: Clock
    blobs: Blobs
    plugins: Plugins


class SessionTools(NamedTuple):
    """The tools in the order in which models see them, and what goes with them.

    `undo` takes back the newest change of a file.
    """

    tools: Sequence[Tool]
    files: Files
    jobs: SessionJobs
    undo: Callable[[], Undone | None]


def tools_of(
    ground: Ground, settings: Settings, stream: EventStream, events: Sequence[Event], folder: str
) -> SessionTools:
    """The tools of the session of `stream`, which works in `folder`."""
    plugins, session = ground.plugins, stream.session
    files = Files(Path(folder), refused=(ground.environment.home,))
    history = History(ground.blobs, in_loop(stream.emit), events)
    jobs = SessionJobs(stream.emit, partial(plugins.end_job, session, folder), events)
    commands = commands_of(ground.environment, settings, folder)
    scratch = data_of(ground.environment.home, "code") / "scratch" / session
    views = views_of(commands, files, jobs, settings.command_seconds, scratch)
    side = SessionSide(session, partial(_record, history), views.order)
    tools = [
        *arranged(plugins.tools(side), views),
        *kernel_tools(
            ground.clock,
            lambda: ground.environment.zone,
            lambda items: stream.emit(PlanUpdated(items=items)),
            ground.blobs,
        ),
    ]
    return SessionTools(tools, files, jobs, lambda: history.undo(files) if len(history) else None)


def arranged(tools: Sequence[Tool], views: Views) -> list[Tool]:
    """The tools of plugins with what the gate knows of them, in the order in which models see them.

    Those that cannot work here are left out.
    """
    return in_order(filter(None, map(views.looked_at, tools)))


def in_order(tools: Iterable[Tool]) -> list[Tool]:
    """The order in which models see tools of plugins."""
    return sorted(tools, key=_place)


def kernel_tools(
    clock: Clock, zone: Callable[[], str], publish: Callable[[list[dict[str, Any]]], object], blobs: Blobs
) -> list[Tool]:
    """The tools of limnos itself."""
    return [clock_tool(clock, zone), plan_tool(publish), block_tool(blobs)]


def _place(tool: Tool) -> int:
    plugin = FIRST[-1] if tool.plugin == JOBS else tool.plugin
    return FIRST.index(plugin) if plugin in FIRST else len(FIRST)


def _record(history: History, call: str, change: FileChange) -> Any:
    history.record(change.path, change.before, change.after, call)
