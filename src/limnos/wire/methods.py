"""The methods of the wire, one class for the parameters of each; `wire.table` lists them with their rights.

Fields are plain JSON. A payload is either inline or, when it is larger than `INLINE` and the plugin can,
a range of the arena; a field named `…_at` then holds the range instead.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal

from limnos.kernel.fields import Fields

INLINE: Final = 64 * 1024  # bytes; a larger payload goes through the arena


class Params(Fields):
    """Parameters of one method; unknown fields are ignored, a wrong type is refused."""


class Initialize(Params):
    """The first request. `protocol` of the answer must be the same number.

    `provides` are the facilities of its manifest. `data` is a folder of the plugin's own, `hidden` are
    folders that no tool may show. `arena` and `ring` name inherited descriptors.
    """

    type: ClassVar[str] = "initialize"

    protocol: int
    plugin: str
    generation: int
    data: str
    provides: Sequence[str] = ()
    settings: Mapping[str, Any] = {}
    arena: Mapping[str, int] | None = None
    ring: Mapping[str, int] | None = None
    hidden: Sequence[str] = ()
    limits: Mapping[str, int] = {}


class Start(Params):
    """Begin to work; everything the plugin needs is ready. It answers, and then says `ready`."""

    type: ClassVar[str] = "start"


class Stop(Params):
    """Save what is to be kept; after the answer the process is ended."""

    type: ClassVar[str] = "stop"

    reason: str = ""


class Ping(Params):
    """Answered at once, also while tools run: without an answer for 15 s the process counts as hung."""

    type: ClassVar[str] = "ping"


class ToolCall(Params):
    """Run a tool. `cwd` is the folder it works in; `order` is what limnos itself prepared for this call.

    `rests_on` is what the permission was given for: a tool that finds it changed refuses.
    """

    type: ClassVar[str] = "tool.call"

    call: str
    tool: str
    cwd: str
    session: str = ""
    arguments: Mapping[str, Any] = {}
    arguments_at: Mapping[str, int] | None = None
    rests_on: str = ""
    timeout_s: float = 60.0
    order: Mapping[str, Any] | None = None


class ToolCancel(Params):
    """Stop a call soon; its answer is still awaited for a moment."""

    type: ClassVar[str] = "tool.cancel"

    call: str


class SessionClosed(Params):
    """A session was closed: what the plugin keeps for it can go."""

    type: ClassVar[str] = "session.closed"

    session: str


class StageRun(Params):
    """Look at one payload of a stage."""

    type: ClassVar[str] = "stage.run"

    handler: str
    stage: str
    payload: Mapping[str, Any] = {}
    payload_at: Mapping[str, int] | None = None


class OutputSend(Params):
    """Deliver a text through a channel; answer when it was handed over, at most 10 s later."""

    type: ClassVar[str] = "output.send"

    channel: str
    to: str
    text: str


class SettingsChanged(Params):
    """The plugin's own settings are now these."""

    type: ClassVar[str] = "settings.changed"

    settings: Mapping[str, Any]


class Ready(Params):
    """The plugin works, and these facilities of it can be used. Once per start."""

    type: ClassVar[str] = "ready"

    facilities: Sequence[str] = ()


class Busy(Params):
    """Whether the plugin has work that no call waits for, such as a server it started: then it is not
    stopped for being idle.
    """

    type: ClassVar[str] = "busy"

    busy: bool


class Log(Params):
    """A line for the plugin's log."""

    type: ClassVar[str] = "log"

    text: str
    level: Literal["debug", "info", "warning", "error"] = "info"


class ToolProgress(Params):
    """How far a running call is; more than 20 a second of one call are dropped."""

    type: ClassVar[str] = "tool.progress"

    call: str
    text: str = ""
    fraction: float | None = None


class ArenaLease(Params):
    """A range of the arena to write a payload into. Fails with code -32002 when none is free."""

    type: ClassVar[str] = "arena.lease"

    size: int


class ArenaRelease(Params):
    """Give a range back that was not sent with an answer."""

    type: ClassVar[str] = "arena.release"

    lease: int


class SettingsGet(Params):
    """The settings of this plugin, or of `plugin`, which takes `settings_cross`."""

    type: ClassVar[str] = "settings.get"

    plugin: str = ""


class SettingsSet(Params):
    """Change settings of this plugin, or of `plugin`, which takes `settings_cross`."""

    type: ClassVar[str] = "settings.set"

    values: Mapping[str, Any]
    plugin: str = ""


class SettingsKernel(Params):
    """The settings of limnos itself, without secrets."""

    type: ClassVar[str] = "settings.kernel"


class FilesChanged(Params):
    """A file that a tool changed, for `/undo`; None where it is not there. Base64 text, or a range."""

    type: ClassVar[str] = "files.changed"

    call: str
    path: str
    before: str | None = None
    after: str | None = None
    before_at: Mapping[str, int] | None = None
    after_at: Mapping[str, int] | None = None


class JobChanged(Params):
    """A command in the background was started or has ended."""

    type: ClassVar[str] = "job.changed"

    session: str
    job: str
    command: str
    state: Literal["running", "ended", "stopped"]
    exit: int | None = None


class BlobPut(Params):
    """Keep bytes (Base64, or a range); answers with the id of the block."""

    type: ClassVar[str] = "blob.put"

    data: str = ""
    data_at: Mapping[str, int] | None = None


class BlobGet(Params):
    """The bytes of a block, Base64 or as a range that is given back with `arena.release`."""

    type: ClassVar[str] = "blob.get"

    block: str


class IoInject(Params):
    """Give limnos an input. `level` is 1 background, 2 message or 3 interactive; `text` waits for its turn,
    an interrupt (`interrupt` true) may go first.
    """

    type: ClassVar[str] = "io.inject"

    text: str
    client_id: str
    source: str = ""
    interrupt: bool = False
    level: int = 2
    session: str = ""
    scene: str = ""


class EventsSubscribe(Params):
    """Have events of these types put into the event ring; none: all of them."""

    type: ClassVar[str] = "events.subscribe"

    types: Sequence[str] = ()


class NetFetch(Params):
    """Fetch through the one way out. `headers` may name a `secret:NAME`."""

    type: ClassVar[str] = "net.fetch"

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: str = ""
    block: str = ""


class LlmComplete(Params):
    """Ask the model that the persona uses."""

    type: ClassVar[str] = "llm.complete"

    prompt: str
    system: str = ""
    max_tokens: int = 1024


class SessionsList(Params):
    """The newest sessions."""

    type: ClassVar[str] = "sessions.list"

    limit: int = 20


class ApprovalsAnswer(Params):
    """Answer a question of the gate; `nonce` went to the person that this plugin speaks for."""

    type: ClassVar[str] = "approvals.answer"

    approval: str
    verdict: Literal["once", "no"]
    nonce: str


class PluginsList(Params):
    """The plugins and their states."""

    type: ClassVar[str] = "plugins.list"


class PluginsRestart(Params):
    """Restart another plugin."""

    type: ClassVar[str] = "plugins.restart"

    plugin: str


class Embed(Params):
    """Vectors of texts."""

    type: ClassVar[str] = "embed"

    texts: Sequence[str]
    side: Literal["query", "passage"] = "passage"


class MemorySearch(Params):
    """Blocks of the memory."""

    type: ClassVar[str] = "memory.search"

    query: str
    limit: int = 10


class ColdQuery(Params):
    """Steps of the cold layer."""

    type: ClassVar[str] = "cold.query"

    query: str
    limit: int = 10


class GraphQuery(Params):
    """Facts of the graph."""

    type: ClassVar[str] = "graph.query"

    query: str
    limit: int = 10
