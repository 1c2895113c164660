"""The tools as they are now, wired to nothing: a replay compares a record with their schemas and flags."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limnos.agent import deferred
from limnos.agent.assembly import register
from limnos.agent.commands import Commands, Workbench
from limnos.agent.recorded import RecordEnds
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.session_tools import in_order, kernel_tools
from limnos.agent.spawn import spawn_tool
from limnos.agent.toolbox.memory import Asked, Found, Quote, memory_tools
from limnos.agent.toolbox.views import views_of
from limnos.kernel.messages import Arguments
from limnos.kernel.registry import Registry
from limnos.kernel.seams import Clock
from limnos.kernel.tools import Output, ToolContext
from limnos.plugins.feed import Feed
from limnos.plugins.host import Host, Member
from limnos.plugins.offered import SessionSide
from limnos.plugins.places import builtin_folders
from limnos.plugins.process import Surroundings
from limnos.plugins.services import Services
from limnos.plugins.settling import read_builtins
from limnos.process.profile import NoSandbox
from limnos.sdk.files import Files


class NothingRemembered:
    """A replay looks nothing up: what was found is recorded."""

    async def search(self, asked: Asked) -> Found:
        raise RecordEnds

    async def standing(self, units: Sequence[str]) -> Sequence[str]:
        raise RecordEnds

    async def quote(self, units: Sequence[str], characters: int) -> Quote:
        raise RecordEnds


class NoBlobs:
    def put(self, data: bytes) -> str:
        return "b" + "0" * 32

    def get(self, block: str) -> bytes:
        raise KeyError(block)


def _no_settings(plugin: str) -> dict[str, Any]:
    """A replay starts no plugin."""
    return {}


async def _nothing_ends(job: str) -> None:
    """A replay runs no jobs."""


def _not_shown(news: object) -> None:
    """What a replay would tell again is not shown."""


async def _nothing_begun(arguments: Arguments, context: ToolContext) -> Output:
    """A replay begins no sub-agent."""
    raise RecordEnds


def tools_of_today(clock: Clock, cwd: str) -> Registry:
    """All built-in tools, wired to nothing: their names, schemas and flags."""
    registry = Registry()
    commands = Commands(
        Workbench(
            cwd,
            {},
            lambda: deferred.shell.Place(cwd, cwd, cwd, ""),
            lambda: NoSandbox("a replay runs nothing", ""),
            (),
        )
    )
    members = [Member(one.manifest) for one in read_builtins(builtin_folders())[0]]
    around = Surroundings(clock, Path(cwd), (), _no_settings, lambda: NoSandbox("a replay runs nothing", ""))
    host = Host(members, around, Services(clock, NoBlobs(), {}), Feed(NoBlobs(), ()))
    jobs = SessionJobs(_not_shown, _nothing_ends)
    views = views_of(commands, Files(Path(cwd)), jobs, 60.0, Path(cwd))
    theirs = in_order(views.looked_at(tool) or tool for tool in host.tools(SessionSide()))
    own = kernel_tools(clock, lambda: "UTC", _not_shown, NoBlobs())
    memory = memory_tools(NothingRemembered(), _not_shown, 0)
    register(registry, [*theirs, *own, spawn_tool(_nothing_begun), *memory])
    return registry
