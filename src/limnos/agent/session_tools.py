"""The tools of one session: those of the plugins as the gate sees them, and the kernel's own."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from limnos.agent.commands import Commands
from limnos.agent.edit_history import History, Undone, in_loop
from limnos.agent.plugins import Plugins
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.settings import Environment, Settings
from limnos.agent.toolbox import files as file_view
from limnos.agent.toolbox import shell as shell_view
from limnos.agent.toolbox.kernel import block_tool, clock_tool, plan_tool
from limnos.agent.workbench import commands_of
from limnos.kernel.events import Event, PlanUpdated
from limnos.kernel.seams import Blobs, Clock
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Tool
from limnos.plugins.offered import FileChange, SessionSide
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
    seconds = settings.command_seconds
    side = SessionSide(
        session, partial(_record, history), partial(shell_view.order_of, commands, jobs, seconds)
    )
    tools = [
        *arranged(plugins.tools(side), files, commands, seconds),
        *kernel_tools(
            ground.clock,
            lambda: ground.environment.zone,
            lambda items: stream.emit(PlanUpdated(items=items)),
            ground.blobs,
        ),
    ]
    return SessionTools(tools, files, jobs, lambda: history.undo(files) if len(history) else None)


def arranged(tools: Sequence[Tool], files: Files, commands: Commands, seconds: float) -> list[Tool]:
    """The tools of plugins with what the gate knows of them, in the order in which models see them."""
    return sorted((_looked_at(tool, files, commands, seconds) for tool in tools), key=_place)


def kernel_tools(
    clock: Clock, zone: Callable[[], str], publish: Callable[[list[dict[str, Any]]], object], blobs: Blobs
) -> list[Tool]:
    """The tools of limnos itself."""
    return [clock_tool(clock, zone), plan_tool(publish), block_tool(blobs)]


def _looked_at(tool: Tool, files: Files, commands: Commands, seconds: float) -> Tool:
    """A tool with what the gate knows of it, where it is one of ours."""
    match tool.plugin:
        case "files":
            return file_view.looked_at(tool, files)
        case "shell":
            return shell_view.looked_at(tool, commands, seconds)
        case _:
            return tool


def _place(tool: Tool) -> int:
    plugin = FIRST[-1] if tool.plugin == shell_view.JOBS else tool.plugin
    return FIRST.index(plugin) if plugin in FIRST else len(FIRST)


def _record(history: History, call: str, change: FileChange) -> Any:
    history.record(change.path, change.before, change.after, call)
