"""What a plugin declares of itself in its `plugin.toml`. `plugins.reading` reads it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from limnos.kernel.stages import StageName
from limnos.kernel.tools import Effects

MIB = 1 << 20
NOTHING: Mapping[str, Any] = MappingProxyType({})


class ToolDeclaration(NamedTuple):
    """A tool as `kernel.tools.Tool` has it, without what only runs in a kernel.

    `subject` names the argument that rules are compared with, empty for none.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    effects: Effects = "external"
    needs_approval: bool = True
    parallel_safe: bool = False
    serial: bool = False
    timeout_s: float = 60.0
    private: bool = True
    repeatable: bool = False
    no_memory: bool = False
    subject: str = ""


class StageDeclaration(NamedTuple):
    """A handler of one stage; as `kernel.stages.Handler` has it."""

    name: str
    stage: StageName
    scope: Literal["global", "own_tools"] = "own_tools"
    priority: int = 100
    policy: Literal["fail_open", "fail_closed"] = "fail_open"
    rewrites: bool = False
    timeout_s: float = 5.0


class ChannelDeclaration(NamedTuple):
    """A way out to people; the tool `output_send__NAME` sends to it."""

    name: str
    description: str


class PluginLimits(NamedTuple):
    """Of one process: `memory` and `arena` in bytes, `cpu` and the idle time in seconds.

    No `cpu`, and a `memory` or `files` of 0, is no limit.
    """

    memory: int = 1024 * MIB
    cpu: int | None = None
    processes: int = 64
    files: int = 256
    arena: int = 16 * MIB
    idle_stop_s: float = 600.0


class Manifest(NamedTuple):
    """One plugin. `folder` is where it lies; `entry` the command, run there.

    An entry `python:MODULE` runs that module with the interpreter of limnos. `builtin` plugins belong to
    limnos and run outside of a sandbox; all others run in one. One that is `off` waits until a
    person enables it.
    """

    name: str
    version: str
    description: str
    folder: str
    entry: tuple[str, ...]
    license: str = ""
    start: Literal["eager", "on_demand"] = "on_demand"
    provides: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    tools: tuple[ToolDeclaration, ...] = ()
    stages: tuple[StageDeclaration, ...] = ()
    channels: tuple[ChannelDeclaration, ...] = ()
    scenes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = NOTHING
    limits: PluginLimits = PluginLimits()
    daemon_only: bool = False
    group: str = ""
    proxies: tuple[str, ...] = ()
    builtin: bool = False
    off: bool = False
