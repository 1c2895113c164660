"""The built-in tools as a session has them, called one by one."""

import asyncio
import os
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from limnos.agent.build import ToolInputs, built_in_tools
from limnos.agent.commands import Commands, Workbench
from limnos.agent.jobs import Jobs
from limnos.agent.shell import Place
from limnos.agent.workbench import probe, program_in
from limnos.kernel.events import JobChanged
from limnos.kernel.messages import ToolError
from limnos.kernel.seams import Invalid
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure, preview_of
from limnos.sdk.files import Files
from limnos.sdk.schema import SchemaValidator
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
        inputs = ToolInputs(
            Files(self.root, (self.root / ".limnos",)),
            self.commands,
            Jobs(self.told.append),
            self.seconds,
            FixedClock(),
            lambda: self.zone,
            self.plans.append,
            self.blobs,
        )
        self.tools: dict[str, Tool] = {tool.name: tool for tool in built_in_tools(inputs)}

    def call(self, name: str, **arguments: Any) -> Output | ToolError:
        """What the tool returns, or why it failed."""
        return asyncio.run(asyncio.wait_for(self.start(name, **arguments), 30))

    async def start(self, name: str, **arguments: Any) -> Output | ToolError:
        """As `call`, inside a running loop."""
        tool = self.tools[name]
        checked = validate(tool.parameters, arguments)
        if isinstance(checked, Invalid):
            return ToolError("invalid_arguments", checked.detail, checked.hint)
        try:
            return await tool.execute(checked.value, ToolContext("c1", str(self.root), self._report))
        except ToolFailure as failure:
            return failure.error

    def text(self, name: str, **arguments: Any) -> str:
        """The text of a success."""
        output = self.call(name, **arguments)
        assert isinstance(output, Output), output
        assert output.error is None, output.error
        return output.text

    def fault(self, name: str, **arguments: Any) -> ToolError:
        """The error of a failure; it says what to do."""
        output = self.call(name, **arguments)
        error = output.error if isinstance(output, Output) else output
        assert error is not None, output
        assert error.detail
        assert error.hint
        return error

    def preview(self, name: str, **arguments: Any) -> Any:
        """What the person is shown before a yes."""
        return preview_of(self.tools[name], arguments)

    def _report(self, text: str, fraction: float | None = None) -> None:
        self.said.append(text)
