"""The tools that run commands: one that waits for the end, and background jobs with theirs."""

from limnos.agent.commands import Commands
from limnos.agent.jobs import Fresh, Jobs, Listed
from limnos.kernel.errors import LimnosError, UsageError
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure
from limnos.process.capture import Completed, run
from limnos.process.spawn import StartError
from limnos.sdk.schema import object_schema

JOBS = "jobs"  # their tools, offered once there is one
NOT_SHOWN = "the sandbox does not show {} to commands: reads find nothing there, writes are gone"
MAX_OUTPUT = 1_000_000
LONGEST_S = 3600.0
LONGEST_LOOK_S = 50.0
_FIRST_SIGNAL, _LAST_SIGNAL = 128, 192
_JOB = {"type": "string", "description": "name of the job, as run_command gave it"}


def shell_tools(commands: Commands, jobs: Jobs, seconds: float) -> list[Tool]:
    """run_command, job_output and job_stop; `seconds` is the time limit when a call names none."""
    return [_command_tool(commands, jobs, seconds), *_job_tools(jobs)]


def _command_tool(commands: Commands, jobs: Jobs, seconds: float) -> Tool:
    return Tool(
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
            background={"type": "boolean", "description": "start it and go on, for servers and long builds"},
            network={"type": "boolean", "description": "it needs the network"},
        ),
        _Shell(commands, jobs, seconds).run,
        effects="local",
        needs_approval=True,
        private=True,
        timeout_s=LONGEST_S + 30,
        after_timeout="killed",
        findings=commands.findings,
        preflight=commands.preflight,
        preview=commands.preview,
        state=commands.state,
        sandbox=commands.sandbox,
        plugin="shell",
    )


def _job_tools(jobs: Jobs) -> list[Tool]:
    tools = _JobTools(jobs)
    look = Tool(
        "job_output",
        "Read what a background job wrote since the last time, and whether it still runs.",
        object_schema(
            [],
            job={**_JOB, "description": "name of the job; without it all jobs are listed"},
            wait_s={
                "type": "number",
                "minimum": 0,
                "maximum": LONGEST_LOOK_S,
                "description": "seconds to wait for something new; 0 if absent",
            },
        ),
        tools.output,
        private=True,
        repeatable=True,
        plugin=JOBS,
    )
    stop = Tool(
        "job_stop",
        "End a background job.",
        object_schema(["job"], job=_JOB),
        tools.stop,
        effects="local",
        private=True,
        plugin=JOBS,
    )
    return [look, stop]


class _Shell:
    def __init__(self, commands: Commands, jobs: Jobs, seconds: float) -> None:
        self._commands = commands
        self._jobs = jobs
        self._seconds = seconds

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        try:
            if arguments.get("background", False):
                return await self._start(arguments)
            return await self._wait(arguments, context)
        except StartError as error:
            return Output("", error=ToolError("unavailable", error.what, error.fix))

    async def _start(self, arguments: Arguments) -> Output:
        try:
            name = await self._jobs.start(self._commands.entering(arguments), str(arguments["command"]))
        except StartError:
            raise
        except LimnosError as error:
            raise ToolFailure("failed", error.what, error.fix) from None
        text = f"{name} runs in the background; job_output(job={name!r}) reads what it writes"
        return Output(text, f"{name} started")

    async def _wait(self, arguments: Arguments, context: ToolContext) -> Output:
        seconds = float(arguments.get("timeout_s", self._seconds))
        with self._commands.entering(arguments) as spec:
            done = await run(
                spec,
                timeout_s=seconds,
                max_bytes=MAX_OUTPUT,
                on_output=lambda data: context.report(data.decode("utf-8", "replace")),
            )
        output = _output(done, seconds)
        if path := self._commands.unseen(arguments):
            return output._replace(text=f"{output.text}\n[{NOT_SHOWN.format(path)}]")
        return output


class _JobTools:
    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def output(self, arguments: Arguments, context: ToolContext) -> Output:
        if "job" not in arguments:
            return _list(self._jobs.listed())
        name, wait_s = str(arguments["job"]), float(arguments.get("wait_s", 0))
        try:
            return _fresh(name, await self._jobs.output(name, wait_s))
        except UsageError as error:
            raise ToolFailure("not_found", error.what, error.fix) from None

    async def stop(self, arguments: Arguments, context: ToolContext) -> Output:
        name = str(arguments["job"])
        try:
            return _fresh(name, await self._jobs.stop(name))
        except UsageError as error:
            raise ToolFailure("not_found", error.what, error.fix) from None


def _list(jobs: list[Listed]) -> Output:
    if not jobs:
        return Output("No job was started in this session.", "no jobs")
    rows = [f"{job.job}: {_state(job.state, job.exit)}: {job.command}" for job in jobs]
    return Output("\n".join(rows), f"{len(jobs)} jobs", origin="command")


def _fresh(name: str, fresh: Fresh) -> Output:
    said = _state(fresh.state, fresh.exit)
    text = fresh.output.decode("utf-8", "replace")
    if fresh.skipped:
        text = f"[{fresh.skipped:,} bytes are gone: too much was written since the last look]\n{text}"
    return Output(
        f"[{name}: {said}]\n{text or '(nothing new)'}", f"{name} {said}", fresh.exit, origin="command"
    )


def _state(state: str, status: int | None) -> str:
    if state == "running":
        return "still runs"
    how = f"signal {-status}" if status is not None and status < 0 else f"exit {status}"
    return f"stopped, {how}" if state == "stopped" else f"ended, {how}"


def _output(done: Completed, seconds: float) -> Output:
    text = done.output.decode("utf-8", "replace")
    if done.timed_out:
        error = ToolError(
            "timeout",
            f"no end after {seconds:g} s; the command was killed",
            "give it a longer timeout_s, or background=true",
        )
        return Output(text, "killed, too slow", done.exit, error, origin="command")
    said = f"exit {done.exit}"
    if done.exit:
        how = f"ended by signal {-done.exit}" if done.exit < 0 else f"exit status {done.exit}"
        if _FIRST_SIGNAL < done.exit <= _LAST_SIGNAL:  # how a shell, and a sandbox, tell of a signal
            how += f", as after signal {done.exit - _FIRST_SIGNAL}"
        error = ToolError("failed", f"the command failed: {how}", "read its output, then try another way")
        return Output(text, said, done.exit, error, origin="command")
    return Output(text or "(exit 0, no output)", said, done.exit, origin="command")
