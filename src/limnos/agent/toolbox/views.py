"""What the gate knows of the tools of one session, and what limnos prepares for the plugins that run them."""

from pathlib import Path
from typing import Any, NamedTuple

from limnos.agent.commands import Commands
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.toolbox import files as file_view
from limnos.agent.toolbox import shell as shell_view
from limnos.agent.toolbox.code import PROGRAMS, Code
from limnos.agent.toolbox.git import GIT_TOOLS, Git
from limnos.agent.toolbox.terminals import Terminals
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Tool
from limnos.sdk.files import Files


class Views(NamedTuple):
    """One for each plugin whose calls limnos prepares; `seconds` is the usual limit of a command."""

    files: Files
    commands: Commands
    jobs: SessionJobs
    seconds: float
    code: Code
    terminals: Terminals
    git: Git

    def looked_at(self, tool: Tool) -> Tool | None:
        """A tool with what the gate knows of it, where it is one of ours; None when it cannot work here."""
        match tool.plugin:
            case "files":
                return file_view.looked_at(tool, self.files)
            case "shell":
                return shell_view.looked_at(tool, self.commands, self.seconds)
            case "code":
                return self.code.looked_at(tool)
            case "terminals":
                return self.terminals.looked_at(tool)
            case "git":
                return self.git.looked_at(tool)
            case _:
                return tool

    def order(self, tool: str, arguments: Arguments) -> dict[str, Any] | None:
        """What a plugin runs for a call; None for a call that is not prepared."""
        if tool == "run_command":
            return shell_view.order_of(self.commands, self.jobs, self.seconds, arguments)
        if tool == "terminal_open":
            return self.terminals.order(arguments)
        if tool in PROGRAMS:
            return self.code.order(tool, arguments)
        return self.git.order(tool, arguments) if tool in GIT_TOOLS else None


def views_of(commands: Commands, files: Files, jobs: SessionJobs, seconds: float, scratch: Path) -> Views:
    """The views of a session; `scratch` is the folder that its code may write to."""
    return Views(files, commands, jobs, seconds, Code(commands, scratch), Terminals(commands), Git(commands))
