"""Every method with the capability that it takes, and what capabilities are there."""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from limnos.wire import methods
from limnos.wire.methods import Params

CORE: Final = ""  # the capability of methods that every plugin may call


class Method(NamedTuple):
    """One method. `capability` is what a plugin needs to call it; `answers` false: a notification."""

    params: type[Params]
    capability: str = CORE
    answers: bool = True


Table: TypeAlias = Mapping[str, Method]


def _table(*methods: Method) -> Table:
    return {method.params.type: method for method in methods}


TO_PLUGIN: Final[Table] = _table(
    Method(methods.Initialize),
    Method(methods.Start),
    Method(methods.Stop),
    Method(methods.Ping),
    Method(methods.ToolCall),
    Method(methods.ToolCancel, answers=False),
    Method(methods.StageRun),
    Method(methods.SessionClosed, answers=False),
    Method(methods.OutputSend),
    Method(methods.SettingsChanged, answers=False),
)

# A method that stands in no row is refused: whoever adds one says here what it takes.
TO_KERNEL: Final[Table] = _table(
    Method(methods.Ready, answers=False),
    Method(methods.Busy, answers=False),
    Method(methods.Log, answers=False),
    Method(methods.ToolProgress, answers=False),
    Method(methods.ArenaLease),
    Method(methods.ArenaRelease, answers=False),
    Method(methods.SettingsGet),
    Method(methods.SettingsSet),
    Method(methods.SettingsKernel, "settings"),
    Method(methods.FilesChanged, "files"),
    Method(methods.JobChanged, "process", answers=False),
    Method(methods.BlobPut, "io"),
    Method(methods.BlobGet, "io"),
    Method(methods.IoInject, "io"),
    Method(methods.EventsSubscribe, "events"),
    Method(methods.NetFetch, "network"),
    Method(methods.LlmComplete, "llm"),
    Method(methods.SessionsList, "sessions"),
    Method(methods.ApprovalsAnswer, "approvals"),
    Method(methods.PluginsList, "plugins"),
    Method(methods.PluginsRestart, "plugins"),
    Method(methods.Embed, "memory"),
    Method(methods.MemorySearch, "memory"),
    Method(methods.ColdQuery, "cold"),
    Method(methods.GraphQuery, "graph"),
)

CAPABILITIES: Final[Mapping[str, str]] = {
    "io": "give limnos inputs, keep and read payloads",
    "memory": "search the memory",
    "cold": "search the cold layer",
    "graph": "search the graph",
    "events": "hear everything that happens",
    "settings": "read the settings of limnos",
    "settings_cross": "read and change settings of other plugins",
    "plugins": "list and restart plugins",
    "llm": "ask the model",
    "sessions": "list sessions",
    "approvals": "pass on a person's answer to a question",
    "network": "fetch through limnos",
    "network:raw": "open connections of its own",
    "files:": "files:PATH shows a folder, files:PATH:rw lets it be changed",
    "process": "start programs",
    "display": "reach the person's display",
}
# No capability gives these: they are limnos itself.
WITHHELD: Final = (
    "publishing kernel events",
    "the supervisor",
    "the gate",
    "provider adapters",
    "other plugins' tools",
)
