"""The tool that runs commands. It always asks; what runs is the text that was shown."""

from collections.abc import Mapping

from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.tools import Output, Preview, Tool, ToolContext
from limnos.process.capture import Completed, run
from limnos.process.spawn import ChildSpec, StartError
from limnos.sdk.schema import object_schema

MAX_OUTPUT = 1_000_000
LONGEST_S = 3600.0


def shell_tools(environment: Mapping[str, str], seconds: float) -> list[Tool]:
    """run_command with exactly `environment`; `seconds` is the time limit when a call names none."""
    tools = _Shell(environment, seconds)
    return [
        Tool(
            "run_command",
            "Run a shell command and return its output and exit status.",
            object_schema(
                ["command"],
                command={"type": "string", "minLength": 1, "description": "the command line, for bash"},
                timeout_s={
                    "type": "number",
                    "minimum": 1,
                    "maximum": LONGEST_S,
                    "description": f"seconds it may take; {seconds:g} if absent",
                },
            ),
            tools.run,
            effects="local",
            needs_approval=True,
            private=True,
            timeout_s=LONGEST_S + 30,
            after_timeout="killed",
            findings=_findings,
            preview=_preview,
            plugin="shell",
        )
    ]


def _command(arguments: Arguments) -> str:
    return str(arguments["command"])


def _findings(arguments: Arguments) -> Findings:
    return Findings((Part(subject=_command(arguments)),), always="a command can change anything")


def _preview(arguments: Arguments) -> Preview:
    return Preview(_command(arguments))


class _Shell:
    def __init__(self, environment: Mapping[str, str], seconds: float) -> None:
        self._environment = dict(environment)
        self._seconds = seconds

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        spec = ChildSpec(("bash", "-c", arguments["command"]), context.cwd, self._environment)
        seconds = float(arguments.get("timeout_s", self._seconds))
        try:
            done = await run(
                spec,
                timeout_s=seconds,
                max_bytes=MAX_OUTPUT,
                on_output=lambda data: context.report(data.decode("utf-8", "replace")),
            )
        except StartError as error:
            return Output("", error=ToolError("unavailable", error.what, error.fix))
        return _output(done, seconds)


def _output(done: Completed, seconds: float) -> Output:
    text = done.output.decode("utf-8", "replace")
    if done.timed_out:
        error = ToolError(
            "timeout", f"no end after {seconds:g} s; the command was killed", "give it a longer timeout_s"
        )
        return Output(text, "killed, too slow", done.exit, error, origin="command")
    said = f"exit {done.exit}"
    if done.exit:
        how = f"ended by signal {-done.exit}" if done.exit < 0 else f"exit status {done.exit}"
        error = ToolError("failed", f"the command failed: {how}", "read its output, then try another way")
        return Output(text, said, done.exit, error, origin="command")
    return Output(text or "(exit 0, no output)", said, done.exit, origin="command")
