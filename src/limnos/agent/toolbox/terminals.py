"""What the gate knows of the terminal tools: what is opened, and what is typed."""

from functools import partial
from typing import Any

from limnos.agent import deferred
from limnos.agent.commands import Commands
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import Rule
from limnos.kernel.tools import Preview, Tool

SHELL = ("bash", "--norc", "--noprofile", "-i")
ANY_COMMAND = "a shell runs whatever is typed into it"
_ENVIRONMENT = {"TERM": "dumb", "PS1": "$ "}  # models read plain lines; colours would only be in the way
_LONGEST_RULE = 200  # characters


class Terminals:
    """The terminal tools of one session. Names are given here, and never twice."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._opened: dict[str, str] = {}

    def looked_at(self, tool: Tool) -> Tool:
        """A terminal tool with what the gate asks about it."""
        match tool.name:
            case "terminal_open":
                return tool._replace(
                    findings=self._opening,
                    preflight=partial(self._can_open, tool),
                    preview=self._preview_open,
                    state=self._state,
                    sandbox=self._sandbox,
                )
            case "terminal_write":
                return tool._replace(
                    findings=self._typing,
                    preflight=partial(self._can_type, tool),
                    preview=self._preview_write,
                    state=self._where,
                    sandbox=self._sandbox_of_it,
                )
            case _:
                return tool

    def order(self, arguments: Arguments) -> dict[str, Any]:
        """What the plugin opens, and how it is called."""
        given = _given(arguments)
        spec, profile, sandbox = self._commands.prepared(given)
        argv = spec.argv if arguments.get("command") else SHELL
        spec = spec._replace(argv=argv, env={**spec.env, **_ENVIRONMENT}, terminal=True)
        name = f"term{len(self._opened) + 1}"
        self._opened[name] = str(given["command"])
        return deferred.programs.as_order(spec, profile, sandbox) | {"name": name}

    def _state(self, arguments: Arguments) -> str:
        return self._commands.state(_given(arguments))

    def _sandbox(self, arguments: Arguments) -> str:
        return self._commands.sandbox(_given(arguments))

    def _where(self, arguments: Arguments) -> str:
        return self._opened.get(str(arguments["terminal"]), "")

    def _sandbox_of_it(self, arguments: Arguments) -> str:
        return "none" if self._commands.unheld() else self._commands.usual_profile().name

    def _opening(self, arguments: Arguments) -> Findings:
        found = self._commands.findings(_given(arguments))
        if arguments.get("command"):
            return found
        return found._replace(always=found.always or ANY_COMMAND)

    def _can_open(self, tool: Tool, arguments: Arguments) -> ToolError | None:
        down = tool.preflight(arguments) if tool.preflight is not None else None
        return down or self._commands.preflight(_given(arguments))

    def _preview_open(self, arguments: Arguments) -> Preview:
        preview = self._commands.preview(_given(arguments))
        rule = preview.rule._replace(tool="terminal_open") if preview.rule else None
        reasons = (*preview.reasons, "it stays open until this session ends")
        return preview._replace(reasons=reasons, rule=rule)

    def _typing(self, arguments: Arguments) -> Findings:
        """The text is what rules are compared with; what no command line may do cannot be typed either."""
        text = str(arguments["text"])
        denied = self._commands.findings({"command": text}).denied if text.strip() else None
        return Findings((Part(subject=text),), always=self._commands.unheld(), denied=denied)

    def _can_type(self, tool: Tool, arguments: Arguments) -> ToolError | None:
        name = str(arguments["terminal"])
        if name not in self._opened:
            known = ", ".join(self._opened) or "none was opened in this session"
            return ToolError("not_found", f"there is no terminal {name!r}", f"the terminals: {known}")
        return tool.preflight(arguments) if tool.preflight is not None else None

    def _preview_write(self, arguments: Arguments) -> Preview:
        name, text = str(arguments["terminal"]), str(arguments["text"])
        plain = text.removesuffix("\n")
        storable = "*" not in text and plain.isprintable() and 0 < len(text) <= _LONGEST_RULE
        rule = Rule("allow", "terminal_write", text) if storable else None
        return Preview(text, (f"it is typed into {name}, where {self._opened.get(name)} runs",), rule)


def _given(arguments: Arguments) -> dict[str, Any]:
    """The arguments as of a command; without one it is a shell."""
    return {**arguments, "command": arguments.get("command") or SHELL[0]}
