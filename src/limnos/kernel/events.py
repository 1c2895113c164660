"""Everything that happens, as one closed union. The audit log, every front end and replay read it.

Field types are plain JSON (str, int, float, bool, None, lists and objects of these), so that a record on
disk and an event on a wire are the same object. Later versions only add types and fields; readers ignore
what they do not know. `docs/protocol/events.md` is generated from this module.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from limnos.kernel.agent_events import AgentFinished as AgentFinished
from limnos.kernel.agent_events import AgentStarted as AgentStarted
from limnos.kernel.call_events import ApprovalAnswered as ApprovalAnswered
from limnos.kernel.call_events import ApprovalAsked as ApprovalAsked
from limnos.kernel.call_events import CallFinished as CallFinished
from limnos.kernel.call_events import CallProgress as CallProgress
from limnos.kernel.call_events import CallProposed as CallProposed
from limnos.kernel.call_events import CallStarted as CallStarted
from limnos.kernel.event_base import Event as Event
from limnos.kernel.memory_events import ContextChanged as ContextChanged
from limnos.kernel.memory_events import MemoryRecalled as MemoryRecalled
from limnos.kernel.memory_events import StepsRecalled as StepsRecalled
from limnos.kernel.memory_events import UnitPinned as UnitPinned

PROTOCOL_VERSION = 1

TurnReason: TypeAlias = Literal["done", "failed", "limit", "denied", "stopped", "terminated"]
EXIT_CODES: dict[TurnReason, int] = {
    "done": 0, "failed": 1, "limit": 3, "denied": 4, "stopped": 130, "terminated": 143,
}  # fmt: skip
# A `step_finished` with one of these as `finish` is our closing note, not a model's answer.
TURN_ENDS = frozenset({"failed", "limit", "denied", "stopped", "terminated", "interrupted"})


class SessionStarted(Event):
    """The first record of a session file. `forked_from` is `<session>#<seq>`."""

    type: ClassVar[str] = "session_started"

    persona: str
    cwd: str
    program: str
    forked_from: str | None = None


class SessionChanged(Event):
    """A person renamed the session or changed its state; fields that are None did not change."""

    type: ClassVar[str] = "session_changed"

    title: str | None = None
    archived: bool | None = None


class TurnStarted(Event):
    """An input was accepted. `source` is the front end, `principal` who speaks through it.

    A repeated `client_id` is answered once. `attended`: somebody can answer; `trusted`: the folder is.
    `names`: the files and folders (these end in a slash) of the working folder that the input names.
    `level` is 1 background to 4 critical; `interrupts` says which turn this one goes before, empty for none.
    """

    type: ClassVar[str] = "turn_started"

    input: str
    source: str
    principal: str
    client_id: str
    persona: str
    model: str
    mode: str
    attended: bool = True
    trusted: bool = False
    names: Sequence[str] = ()
    level: int = 3
    interrupts: str = ""


class TurnSuspended(Event):
    """A turn was set aside for an interrupt of a higher level; it goes on with `turn_resumed`.

    `by` is the client id of that input. A reply that was on its way is thrown away and asked for again.
    """

    type: ClassVar[str] = "turn_suspended"

    by: str


class TurnResumed(Event):
    """A turn goes on: one that was set aside, or after a restart one that was interrupted.

    `unknown` lists the calls whose outcome nobody knows. `about` is what a set aside turn was about.
    """

    type: ClassVar[str] = "turn_resumed"

    source: str
    principal: str
    unknown: Sequence[str] = ()
    about: str = ""


class InputInjected(Event):
    """An input joined the running turn at a step border; its terminal event is that turn's."""

    type: ClassVar[str] = "input_injected"

    input: str
    source: str
    principal: str
    client_id: str
    names: Sequence[str] = ()
    level: int = 3


class InputDropped(Event):
    """The terminal event of an input that waited and got no turn: it was taken back, or limnos ended."""

    type: ClassVar[str] = "input_dropped"

    client_id: str
    source: str
    reason: Literal["taken_back", "closed"]


class TextDelta(Event):
    """A piece of the answer as it streams. Not persisted: `step_finished` has the whole text."""

    type: ClassVar[str] = "text_delta"
    persisted: ClassVar[bool] = False

    text: str


class ReasoningDelta(Event):
    """A piece of reasoning as it streams. Not persisted."""

    type: ClassVar[str] = "reasoning_delta"
    persisted: ClassVar[bool] = False

    text: str


class ReplyFinished(Event):
    """The model's reply is whole and holds calls; written before any of them is considered.

    `reasoning` is a list of `{"text", "signature", "model"}`. `finish` is the provider's reason.
    """

    type: ClassVar[str] = "reply_finished"

    text: str
    reasoning: Sequence[Mapping[str, Any]] = ()
    finish: str = "stop"


class StepFinished(Event):
    """A step is whole: the reply and the results of its calls. `tokens` are those of the reply."""

    type: ClassVar[str] = "step_finished"

    text: str
    calls: Sequence[str] = ()
    reasoning: Sequence[Mapping[str, Any]] = ()
    finish: str = "stop"
    tokens: int = 0
    complete: bool = True


class PlanUpdated(Event):
    """The persona's short plan: a list of `{"text", "state"}`, state pending, active or done."""

    type: ClassVar[str] = "plan_updated"

    items: Sequence[Mapping[str, Any]]


class FileChanged(Event):
    """A file tool changed a file. `path` is relative to the session's folder, links resolved.

    `before` and `after` are the block ids of its content; None where it was or is not there. `cause` is
    the call that did it, or `undo`.
    """

    type: ClassVar[str] = "file_changed"

    path: str
    cause: str
    before: str | None = None
    after: str | None = None


class JobChanged(Event):
    """A background command: `state` is running, ended (by itself), or stopped. `exit` as of a command."""

    type: ClassVar[str] = "job_changed"

    job: str
    command: str
    state: str
    exit: int | None = None


class PluginChanged(Event):
    """A plugin crashed, was given up, or works again. `state` is down, stopped or running.

    `generation` counts its starts; `why` says what happened.
    """

    type: ClassVar[str] = "plugin_changed"

    plugin: str
    state: str
    generation: int
    why: str = ""


class StageNote(Event):
    """A stage handler acted, failed or was too slow. `action` is pass, rewrite, deny, answer or failed."""

    type: ClassVar[str] = "stage_note"

    stage: str
    handler: str
    action: str
    detail: str = ""


class UsageRecorded(Event):
    """Tokens and money of one request. `cost` is a decimal number as text; `estimated` when we counted."""

    type: ClassVar[str] = "usage"

    model: str
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    cost: str = "0"
    currency: str = "USD"
    estimated: bool = False


class Warned(Event):
    """Something a person should know that did not stop the turn; `fix` says what to do."""

    type: ClassVar[str] = "warning"

    code: str
    text: str
    fix: str = ""


class TurnFinished(Event):
    """The terminal event of a turn; each accepted input gets exactly one.

    `message` says what happened when `reason` is not `done`, `fix` what to do about it. `set_aside` is how
    many other turns were set aside for this one, and go on.
    """

    type: ClassVar[str] = "turn_finished"

    reason: TurnReason
    exit: int
    steps: int
    calls: int
    ms: int
    tokens: int
    cost: str = "0"
    currency: str = "USD"
    message: str = ""
    fix: str = ""
    set_aside: int = 0


EVENT_TYPES: dict[str, type[Event]] = {
    kind.type: kind
    for kind in (
        SessionStarted, SessionChanged, TurnStarted, TurnSuspended, TurnResumed, InputInjected, InputDropped,
        TextDelta, ReasoningDelta,
        ReplyFinished, CallProposed, ApprovalAsked, ApprovalAnswered, CallStarted, CallProgress,
        CallFinished, StepFinished, ContextChanged, MemoryRecalled, StepsRecalled, UnitPinned,
        PlanUpdated, FileChanged, JobChanged, PluginChanged, StageNote, UsageRecorded, Warned,
        AgentStarted, AgentFinished, TurnFinished,
    )
}  # fmt: skip
