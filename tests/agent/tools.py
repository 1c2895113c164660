"""The built-in tools as a session has them, called one by one."""

import asyncio
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from limnos.agent.commands import Commands, Workbench
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.session_tools import arranged, kernel_tools
from limnos.agent.shell import Place
from limnos.agent.toolbox.views import Views, views_of
from limnos.agent.workbench import probe, program_in
from limnos.builtin.code.tools import plugin as code_plugin
from limnos.builtin.files.tools import plugin as files_plugin
from limnos.builtin.git.tools import plugin as git_plugin
from limnos.builtin.health.tools import plugin as health_plugin
from limnos.builtin.search.tools import plugin as search_plugin
from limnos.builtin.shell.tools import plugin as shell_plugin
from limnos.builtin.terminals.tools import plugin as terminals_plugin
from limnos.kernel.events import JobChanged
from limnos.kernel.messages import ToolError
from limnos.kernel.seams import Invalid
from limnos.kernel.tools import Execute, Output, Tool, ToolContext, ToolFailure, preview_of
from limnos.plugins.manifest import ToolDeclaration
from limnos.plugins.places import builtin_folders
from limnos.plugins.reading import read_manifest
from limnos.sdk.async_calls import is_async
from limnos.sdk.call import Call
from limnos.sdk.files import Files
from limnos.sdk.plugin import Plugin
from limnos.sdk.schema import SchemaValidator
from limnos.sdk.told import Told
from limnos.testing.doubles import FixedClock, MemoryBlobs

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "TERM": "dumb"}
validate = SchemaValidator()


def commands_in(folder: Path) -> Commands:
    """The command lines of a session that works in `folder`."""
    place = Place(
        cwd=str(folder),
        home="/nowhere",
        state=str(folder / ".limnos"),
        user="u",
        resolve=os.path.realpath,
        program=partial(program_in, ENVIRONMENT, str(folder)),
    )
    return Commands(Workbench(str(folder), ENVIRONMENT, lambda: place, probe, (str(folder / ".limnos"),)))


DECLARED: dict[str, tuple[str, ToolDeclaration]] = {
    tool.name: (manifest.name, tool)
    for manifest in (read_manifest(folder, builtin=True) for folder in builtin_folders())
    for tool in manifest.tools
}
PLUGINS: dict[str, Plugin] = {
    "code": code_plugin,
    "files": files_plugin,
    "git": git_plugin,
    "health": health_plugin,
    "search": search_plugin,
    "shell": shell_plugin,
    "terminals": terminals_plugin,
}


def tool_of(name: str, execute: Execute) -> Tool:
    """The tool as its plugin declares it, done by `execute`."""
    plugin, declared = DECLARED[name]
    given = declared._asdict()
    given["subject"] = None
    return Tool(**given, execute=execute, plugin=plugin)


def file_tools(files: Files) -> list[Tool]:
    """The file tools as the gate sees them; nothing does them."""

    async def nothing(arguments: Any, context: ToolContext) -> Output:
        raise AssertionError("only looked at")

    names = [name for name, (plugin, _) in DECLARED.items() if plugin == "files"]
    return arranged([tool_of(name, nothing) for name in names], _views(files, Path("/nowhere")))


def _views(files: Files, folder: Path) -> Views:
    async def end(job: str) -> None:
        raise AssertionError(f"{job} does not run")

    jobs = SessionJobs(lambda _: None, end)
    return views_of(commands_in(folder), files, jobs, 20.0, Path("/nowhere"))


@dataclass
class Toolbox:
    """Tools over a folder; `call` does what the kernel does with arguments and failures."""

    root: Path
    seconds: float = 20.0
    zone: str = "Asia/Shanghai"
    plans: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    said: list[str] = field(default_factory=list[str])
    told: list[JobChanged] = field(default_factory=list[JobChanged])

    def __post_init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.root.mkdir(exist_ok=True)
        self.commands = commands_in(self.root)
        scratch = self.root.with_name(f"{self.root.name}-scratch")
        self.session = str(self.root)
        self.jobs = SessionJobs(self.told.append, self._end_job)
        theirs = [
            tool_of(name, partial(self._perform, name))
            for name, (one, _) in DECLARED.items()
            if one in PLUGINS
        ]
        own = kernel_tools(FixedClock(), lambda: self.zone, self.plans.append, self.blobs)
        files = Files(self.root, (self.root / ".limnos",))
        self.views = views_of(self.commands, files, self.jobs, self.seconds, scratch)
        tools = [*arranged(theirs, self.views), *own]
        self.tools: dict[str, Tool] = {tool.name: tool for tool in tools}

    async def _perform(self, name: str, arguments: Any, context: ToolContext) -> Output:
        """What the plugin does, here in this process."""
        plugin, _ = DECLARED[name]
        told = Told(self, self, plugin, str(self.root), {}, (str(self.root / ".limnos"),))  # type: ignore[arg-type]
        order = self.views.order(name, arguments)
        given = {"call": context.call, "tool": name, "cwd": context.cwd, "rests_on": context.rests_on}
        call = Call(told, {**given, "session": self.session, "order": order})
        PLUGINS[plugin].told = told
        function = PLUGINS[plugin].tools[name]
        if is_async(function):
            output = await function(call, **arguments)
        else:
            try:
                output = await asyncio.to_thread(function, call, **arguments)
            except asyncio.CancelledError:
                call.stop()
                raise
        return output if isinstance(output, Output) else Output(output)

    async def _end_job(self, name: str) -> None:
        await self.start("job_stop", job=name)

    def notify(self, method: str, **params: Any) -> None:
        """What a plugin tells."""
        if method == "tool.progress":
            self.said.append(params["text"])
        elif method == "job.changed":
            told = {key: value for key, value in params.items() if key != "session"}
            self.jobs.heard(JobChanged(**told))

    def request(self, method: str, **params: Any) -> Any:
        """What a plugin asks."""
        return {}

    def with_bytes(self, record: dict[str, Any], name: str, data: bytes) -> dict[str, Any]:
        """Payloads stay here."""
        return record

    def call(self, name: str, /, **arguments: Any) -> Output | ToolError:
        """What the tool returns, or why it failed."""
        return asyncio.run(asyncio.wait_for(self.start(name, **arguments), 30))

    async def start(self, name: str, /, **arguments: Any) -> Output | ToolError:
        """As `call`, inside a running loop."""
        tool = self.tools[name]
        checked = validate(tool.parameters, arguments)
        if isinstance(checked, Invalid):
            return ToolError("invalid_arguments", checked.detail, checked.hint)
        try:
            return await tool.execute(checked.value, ToolContext("c1", str(self.root), self._report))
        except ToolFailure as failure:
            return failure.error

    def text(self, name: str, /, **arguments: Any) -> str:
        """The text of a success."""
        output = self.call(name, **arguments)
        assert isinstance(output, Output), output
        assert output.error is None, output.error
        return output.text

    def fault(self, name: str, /, **arguments: Any) -> ToolError:
        """The error of a failure; it says what to do."""
        output = self.call(name, **arguments)
        error = output.error if isinstance(output, Output) else output
        assert error is not None, output
        assert error.detail
        assert error.hint
        return error

    def preview(self, name: str, /, **arguments: Any) -> Any:
        """What the person is shown before a yes."""
        return preview_of(self.tools[name], arguments)

    def _report(self, text: str, fraction: float | None = None) -> None:
        """Tools tell it through `notify`."""
