"""Plugins written for a test, run as real processes by a real host."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any, TypeVar

from limnos.agent.clock import SystemClock
from limnos.kernel.messages import ToolError
from limnos.kernel.seams import Clock
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure
from limnos.plugins.feed import Feed
from limnos.plugins.host import Host, Member
from limnos.plugins.manifest import Manifest, PluginLimits, StageDeclaration, ToolDeclaration
from limnos.plugins.offered import SessionSide
from limnos.plugins.process import Surroundings
from limnos.plugins.services import Services
from limnos.plugins.unit import Change
from limnos.process.profile import NoSandbox
from limnos.testing.doubles import MemoryBlobs

T = TypeVar("T")
TYPES = ("turn_started", "text_delta", "turn_finished")
ANYTHING = {"type": "object", "properties": {}}
HEAD = """
import os, sys, time
from limnos.sdk.plugin import *
plugin = Plugin()
"""


def tool(name: str, **flags: Any) -> ToolDeclaration:
    """A tool that takes anything."""
    return ToolDeclaration(name, "for a test", ANYTHING, **flags)


def written(folder: Path, name: str, code: str, **fields: Any) -> Manifest:
    """A plugin in Python with the SDK, whose tools are the functions of `code`; unconfined."""
    file = folder / f"{name}.py"
    file.write_text(f"{HEAD}{dedent(code)}\nplugin.run()\n")
    return program(folder, name, (sys.executable, "-I", str(file)), **fields)


def program(folder: Path, name: str, entry: tuple[str, ...], **fields: Any) -> Manifest:
    """A plugin that is any program."""
    return Manifest(name, "1", "for a test", str(folder), entry, builtin=True, **fields)


@dataclass
class Plugins:
    """A host with the plugins of a test, and one session."""

    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    changes: list[Change] = field(default_factory=list[Change])
    said: list[str] = field(default_factory=list[str])
    calls: int = 0
    services: dict[str, Any] = field(default_factory=dict[str, Any])

    def host(self, *members: Member) -> Host:
        """A host that starts nothing before it is used."""
        around = Surroundings(
            self.clock,
            self.folder / "data",
            (),
            lambda _: {},
            lambda: NoSandbox("a test runs without", "nothing"),
        )
        made = Host(members, around, Services(self.clock, self.blobs, self.services), Feed(self.blobs, TYPES))
        made.listen(self.changes.append)
        return made

    async def call(self, host: Host, name: str, **arguments: Any) -> Output | ToolError:
        """The result of a call, or why it failed."""
        found: Tool = next(one for one in host.tools(SessionSide("s1")) if one.name == name)
        self.calls += 1
        context = ToolContext(f"c{self.calls}", str(self.folder), self._report)
        try:
            return await found.execute(arguments, context)
        except ToolFailure as failure:
            return failure.error

    def _report(self, text: str, fraction: float | None = None) -> None:
        self.said.append(text)


def played(host: Host, story: Callable[[], Awaitable[T]], seconds: float = 60.0) -> T:
    """Run `story`, then end the host whatever happened."""

    async def whole() -> T:
        try:
            return await asyncio.wait_for(story(), seconds)
        finally:
            await asyncio.wait_for(host.close(), 30)

    return asyncio.run(whole())


__all__ = [
    "ANYTHING", "Change", "Host", "Manifest", "Member", "Output", "PluginLimits", "Plugins",
    "StageDeclaration", "ToolError", "played", "program", "tool", "written",
]  # fmt: skip
