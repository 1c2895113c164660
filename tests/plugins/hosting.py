"""A host of real plugin processes, each a short script, on a clock that the test turns."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from limnos.kernel.events import EVENT_TYPES
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure
from limnos.plugins.feed import Feed
from limnos.plugins.host import Host, Member
from limnos.plugins.manifest import Manifest, StageDeclaration, ToolDeclaration
from limnos.plugins.offered import SessionSide
from limnos.plugins.process import Surroundings
from limnos.plugins.services import Services
from limnos.plugins.unit import Change
from limnos.process.sandbox import NoSandbox
from limnos.testing.doubles import HandClock, MemoryBlobs

ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}
PATIENCE_S = 20.0
SIDE = SessionSide("s1")
NONE = NoSandbox("these tests have none", "use one")

# A plugin by hand: `on_call(number, params)` and the rest can be replaced by what a test puts behind it.
BASE = """
import json, os, signal, sys, threading, time

def send(**frame):
    os.write(1, json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\\n")

def reply(number, **result):
    send(id=number, result=result)

def on_initialize(number, params):
    reply(number, protocol=1, arena="rw")

def on_start(number, params):
    reply(number)
    send(method="ready", params={"facilities": []})

def on_ping(number, params):
    reply(number)

def on_stop(number, params):
    reply(number)

def on_call(number, params):
    reply(number, text=params["arguments"].get("text", ""))

def on_stage(number, params):
    reply(number, action="pass")

def on_told(frame):
    pass

def on_end():
    pass

def answered(frame):
    pass

def on_its_own(pid):
    while os.getsid(pid) == os.getsid(0):
        time.sleep(0.005)

def serve():
    handlers = {"initialize": on_initialize, "start": on_start, "ping": on_ping, "stop": on_stop,
                "tool.call": on_call, "stage.run": on_stage}
    for line in sys.stdin:
        frame = json.loads(line)
        if "method" not in frame:
            answered(frame)
        elif "id" not in frame:
            on_told(frame)
        else:
            handlers[frame["method"]](frame["id"], frame.get("params", {}))
    on_end()
"""


def manifest(folder: Path, code: str, name: str = "odd", **changed: Any) -> Manifest:
    """A plugin that is `code` behind the base."""
    file = folder / f"{name}.py"
    file.write_text(f"{BASE}\n{code}\nserve()\n")
    usual = Manifest(
        name,
        "1",
        "a test",
        str(folder),
        (sys.executable, "-I", str(file)),
        tools=(ToolDeclaration(f"{name}_do", "does it", ANYTHING, timeout_s=PATIENCE_S),),
        builtin=True,
    )
    return usual._replace(**changed)


def stage(name: str, **changed: Any) -> StageDeclaration:
    """A handler of on_input."""
    return StageDeclaration(name, "on_input", scope="global", timeout_s=0.5)._replace(**changed)


class Bench:
    """A host under test, and what it is connected to."""

    def __init__(self, folder: Path, members: Sequence[Member], more: Mapping[str, Any]) -> None:
        self.clock = HandClock()
        self.changes: list[Change] = []
        self.folder = folder
        self.blobs = MemoryBlobs()
        self.services = Services(self.clock, self.blobs, more.get("services", {}))
        around = Surroundings(
            self.clock,
            folder / "data",
            (),
            lambda name: more.get("settings", {}),
            more.get("sandbox", lambda: NONE),
            more.get("unconfined", ()),
        )
        self.host = Host(members, around, self.services, Feed(self.blobs, EVENT_TYPES))
        self.host.listen(self.changes.append)
        self._calls = 0

    def tool(self, name: str, side: SessionSide = SIDE) -> Tool:
        """A tool of the host."""
        return next(tool for tool in self.host.tools(side) if tool.name == name)

    async def call(self, name: str = "odd_do", side: SessionSide = SIDE, **given: Any) -> Output:
        """What a tool comes to, within a limit."""
        self._calls += 1
        context = ToolContext(f"c{self._calls}", "/", lambda text, fraction=None: None)
        async with asyncio.timeout(PATIENCE_S):
            return await self.tool(name, side).execute(given, context)

    async def failure(self, name: str = "odd_do", **given: Any) -> str:
        """What the model reads of a call that fails: its reason and its detail."""
        try:
            done = await self.call(name, **given)
            if done.error is not None:
                return f"{done.error.reason}: {done.error.detail}"
        except ToolFailure as failure:
            return f"{failure.error.reason}: {failure.error.detail}"
        raise AssertionError(f"it did not fail: {done}")

    def unit(self, name: str = "odd") -> Any:
        """The plugin."""
        return self.host.unit(name)

    def log(self, name: str = "odd") -> str:
        """Its log."""
        return "\n".join(line.text for line in self.host.lines(name, 1000))

    def states(self, name: str = "odd") -> list[str]:
        """The states it went through."""
        return [change.state for change in self.changes if change.plugin == name]

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is true, within a limit of real time; the test's clock stands still."""
        end = time.monotonic() + PATIENCE_S
        while not true():
            assert time.monotonic() < end, f"it never came to that: {self.changes[-3:]}"
            await asyncio.sleep(0.005)

    async def slept(self, seconds: float) -> None:
        """Turn the clock once somebody sleeps for so long on it."""
        await self.until(lambda: seconds in self.clock.slept)
        self.clock.move(seconds)
        await asyncio.sleep(0)


@asynccontextmanager
async def bench(folder: Path, *plugins: Manifest | Member, **more: Any) -> AsyncGenerator[Bench]:
    """A host of these plugins; at its end nothing of it is left, or the test fails."""
    (folder / "data").mkdir(exist_ok=True)
    asyncio.get_running_loop().set_debug(False)
    before = descriptors()
    members = [one if isinstance(one, Member) else Member(one) for one in plugins]
    made = Bench(folder, members, more)
    try:
        yield made
    finally:
        await asyncio.wait_for(made.host.close(), PATIENCE_S)
    assert not [one for one in made.host.standings if one.pid]
    left = descriptors() - before
    assert not left, {one: os.readlink(f"/proc/self/fd/{one}") for one in left}
    assert not children(), children()


def descriptors() -> set[int]:
    """What this process has open."""
    return {int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")}


def children() -> list[str]:
    """The children of this process, dead ones that nobody waited for too."""
    found: list[str] = []
    for name in os.listdir("/proc/self/task"):
        text = Path(f"/proc/self/task/{name}/children").read_text()
        found += [f"{one} {status(int(one))}" for one in text.split()]
    return found


def status(pid: int) -> str:
    """The state of a process, such as `S (sleeping)`; empty when there is none."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return ""
    return next(line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("State:"))
