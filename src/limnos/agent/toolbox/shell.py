"""What the gate knows of the command tool, and what limnos prepares for the plugin that runs a command."""

from functools import partial
from typing import Any

from limnos.agent import deferred
from limnos.agent.commands import Commands
from limnos.agent.session_jobs import JOBS, SessionJobs
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.tools import Tool


def looked_at(tool: Tool, commands: Commands, seconds: float) -> Tool:
    """A tool of commands or jobs with what the gate asks about it; `seconds` is the usual time limit."""
    if tool.name in ("job_output", "job_stop"):
        return tool._replace(plugin=JOBS)
    if tool.name != "run_command":
        return tool
    return tool._replace(
        parameters=_with_limit(tool.parameters, seconds),
        after_timeout="killed",
        findings=commands.findings,
        preflight=partial(_preflight, tool, commands),
        preview=commands.preview,
        state=commands.state,
        sandbox=commands.sandbox,
    )


def order_of(commands: Commands, jobs: SessionJobs, seconds: float, arguments: Arguments) -> dict[str, Any]:
    """What the plugin runs for a call: the program that the gate looked at, in its sandbox."""
    order = deferred.programs.as_order(*commands.prepared(arguments))
    order |= {"seconds": float(arguments.get("timeout_s", seconds)), "unseen": commands.unseen(arguments)}
    return order | {"job": jobs.next_name()} if arguments.get("background", False) else order


def _preflight(tool: Tool, commands: Commands, arguments: Arguments) -> ToolError | None:
    down = tool.preflight(arguments) if tool.preflight is not None else None
    return down or commands.preflight(arguments)


def _with_limit(parameters: Any, seconds: float) -> dict[str, Any]:
    """The schema with the usual limit in its words."""
    properties = dict(parameters["properties"])
    limit = {**properties["timeout_s"], "description": f"seconds it may take; {seconds:g} if absent"}
    return {**parameters, "properties": {**properties, "timeout_s": limit}}
