"""What the gate knows of the code tools, and what limnos prepares for the plugin that runs the code.

Code is not read: the sandbox lets it change nothing and send nothing. Without one every call asks.
"""

import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

from limnos.agent import deferred
from limnos.agent.commands import Commands, identity_of
from limnos.agent.workbench import program_in
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Preview, Tool
from limnos.process.profile import NoSandbox, Profile
from limnos.process.spawn import ChildSpec, Limits

SECONDS = 30.0
PROGRAMS = {"run_python": "python3", "run_node": "node"}
_LIMITS = Limits(data=1 << 30, files=1024, processes=256, file_size=64 << 20)
_IN_MEMORY = 256 << 20
_PYTHON = {"PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class Code:
    """The code tools of one session. `scratch` is the one folder that code may write to."""

    def __init__(self, commands: Commands, scratch: Path) -> None:
        self._commands = commands
        self._scratch = str(scratch)

    def looked_at(self, tool: Tool) -> Tool | None:
        """A code tool with what the gate asks about it; None where its program is not installed."""
        if not self._program(tool.name):
            return None
        return tool._replace(
            after_timeout="killed",
            needs_approval=self._asks,
            findings=self._findings,
            preview=self._preview,
            state=partial(self._state, tool.name),
            sandbox=self._sandbox,
        )

    def order(self, tool: str, arguments: Arguments) -> dict[str, Any]:
        """What the plugin runs; the code is the standard input of it."""
        sandbox, held = self._commands.bench.sandbox(), _LIMITS
        if isinstance(sandbox, NoSandbox):
            sandbox, held = None, _LIMITS._replace(processes=None)  # it would count all of this user
        folder = self._commands.bench.workspace
        spec = ChildSpec((PROGRAMS[tool], "-"), folder, self._environment(), held)
        order = deferred.programs.as_order(spec, self._profile() if sandbox else None, sandbox)
        return order | {"seconds": float(arguments.get("timeout_s", SECONDS)), "scratch": self._scratch}

    def _findings(self, arguments: Arguments) -> Findings:
        return Findings((Part(subject=str(arguments["code"])),), always=self._commands.unheld())

    def _preview(self, arguments: Arguments) -> Preview:
        return Preview(str(arguments["code"]), ("it runs code that limnos does not read",))

    def _asks(self, arguments: Arguments) -> bool:
        return bool(self._commands.unheld())

    def _sandbox(self, arguments: Arguments) -> str:
        return "none" if self._commands.unheld() else self._profile().name

    def _state(self, tool: str, arguments: Arguments) -> str:
        profile = "" if self._commands.unheld() else self._profile().digest()
        known = [identity_of(self._program(tool)), sorted(self._environment().items()), profile]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    def _program(self, tool: str) -> str:
        return program_in(self._commands.bench.environment, self._commands.bench.workspace, PROGRAMS[tool])

    def _environment(self) -> dict[str, str]:
        own = {"HOME": self._scratch, "SCRATCH": self._scratch}
        return {**self._commands.bench.environment, **own, **_PYTHON}

    def _profile(self) -> Profile:
        """The folder to read, the scratch folder to write, no network; what runs now can plant nothing."""
        bench = self._commands.bench
        return Profile(
            bench.workspace,
            bench.hidden,
            writable=(self._scratch,),
            protect=False,
            read_only=True,
            in_memory=_IN_MEMORY,
        )
