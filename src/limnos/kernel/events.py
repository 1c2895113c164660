"""Everything that happens, as one closed union. The audit log, every front end and replay read it.

Field types are plain JSON (str, int, float, bool, None, lists and objects of these), so that a record on
disk and an event on a wire are the same object. Later versions only add types and fields; readers ignore
what they do not know. `docs/protocol/events.md` is generated from this module.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias

from limnos.kernel.fields import Fields

PROTOCOL_VERSION = 1

TurnReason: TypeAlias = Literal["done", "failed", "limit", "denied", "stopped", "terminated"]
EXIT_CODES: dict[TurnReason, int] = {
    "done": 0, "failed": 1, "limit": 3, "denied": 4, "stopped": 130, "terminated": 143,
}  # fmt: skip
# A `step_finished` with one of these as `finish` is our closing note, not a model's answer.
TURN_ENDS = frozenset({"failed", "limit", "denied", "stopped", "terminated", "interrupted"})


class Event(Fields):
    """What all events share. `seq` grows by one per event of a session; `time` is ISO 8601 in UTC.

    `turn` and `step` count from 1; 0 means outside of any.
    """

    persisted: ClassVar[bool] = True

    seq: int = 0
    time: str = ""
    session: str = ""
    turn: int = 0
    step: int = 0


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


class TurnResumed(Event):
    """An interrupted turn goes on after a restart; `unknown` lists the calls whose outcome nobody knows."""

    type: ClassVar[str] = "turn_resumed"

    source: str
    principal: str
    unknown: Sequence[str] = ()


class InputInjected(Event):
    """An input joined the running turn at a step border; its terminal event is that turn's."""

    type: ClassVar[str] = "input_injected"

    input: str
    source: str
    principal: str
    client_id: str
    names: Sequence[str] = ()


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


class CallProposed(Event):
    """The model asked for a call. `arguments` is None when `raw` could not be parsed (`parse_error`).

    `tool` is the wire name as the model wrote it.
    """

    type: ClassVar[str] = "call_proposed"

    call: str
    tool: str
    arguments: dict[str, Any] | None
    effects: str = "none"
    raw: str | None = None
    parse_error: str | None = None
    cut: bool = False


class ApprovalAsked(Event):
    """The gate asks. `hash` is the SHA-256 of what would run; `preview` is what it would change.

    `tool` and `arguments` repeat what is asked about, so that a client that joins late can show it; `parts`
    are the simple commands of a command line, as lists of words.
    """

    type: ClassVar[str] = "approval_asked"

    approval: str
    call: str
    tool: str
    arguments: dict[str, Any]
    hash: str
    reasons: Sequence[str]
    cwd: str = ""
    preview: str | None = None
    rule: dict[str, Any] | None = None
    destinations: Sequence[str] = ()
    origins: Sequence[str] = ()
    expires: str = ""
    parts: Sequence[Sequence[str]] = ()


class ApprovalAnswered(Event):
    """`answer` is once, always, no, edit, expired or cancelled; `reason` is the person's own words.

    `arguments` are the edited ones; `rule` is the rule that `always` stored.
    """

    type: ClassVar[str] = "approval_answered"

    approval: str
    call: str
    answer: str
    principal: str
    source: str
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    rule: dict[str, Any] | None = None
    after_ms: int = 0


class CallStarted(Event):
    """On disk before the tool runs: after a crash such a call is *unknown*, never run again by itself."""

    type: ClassVar[str] = "call_started"

    call: str
    hash: str
    arguments: dict[str, Any]
    cwd: str = ""
    sandbox: str = "none"


class CallProgress(Event):
    """What a running call printed or how far it is. Not persisted. `fraction` is 0 to 1 where known.

    At most ten a second for a call; `text` is the newest of what it printed since the last one, at most
    4,000 characters. The result has the rest.
    """

    type: ClassVar[str] = "call_progress"
    persisted: ClassVar[bool] = False

    call: str
    text: str = ""
    fraction: float | None = None


class CallFinished(Event):
    """The one result of a call. `text` is what the model reads; a large result lies in the blob `block`.

    `error` is `{"reason", "detail", "hint"}`. `exit` is the exit status of a command, `summary` one line
    for people. `short` is true when the text was cut to head and tail.
    """

    type: ClassVar[str] = "call_finished"

    call: str
    tool: str
    outcome: str
    text: str
    error: dict[str, Any] | None = None
    block: str | None = None
    bytes: int = 0
    exit: int | None = None
    summary: str = ""
    short: bool = False
    ms: int = 0
    origin: str = "kernel"
    trust: str = "trusted"


class StepFinished(Event):
    """A step is whole: the reply and the results of its calls. `tokens` are those of the reply."""

    type: ClassVar[str] = "step_finished"

    text: str
    calls: Sequence[str] = ()
    reasoning: Sequence[Mapping[str, Any]] = ()
    finish: str = "stop"
    tokens: int = 0
    complete: bool = True


class ContextChanged(Event):
    """What the next request holds, in tokens; `sunk` and `recalled` are step ids.

    `used` is the whole request, `system` the prompt in it, `reserve` what is kept free for the reply.
    """

    type: ClassVar[str] = "context_changed"

    reason: str
    used: int
    budget: int
    reserve: int
    system: int = 0
    sunk: Sequence[str] = ()
    recalled: Sequence[str] = ()
    marker: str = ""


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

    `message` says what happened when `reason` is not `done`, `fix` what to do about it.
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


EVENT_TYPES: dict[str, type[Event]] = {
    kind.type: kind
    for kind in (
        SessionStarted, SessionChanged, TurnStarted, TurnResumed, InputInjected, TextDelta, ReasoningDelta,
        ReplyFinished, CallProposed, ApprovalAsked, ApprovalAnswered, CallStarted, CallProgress,
        CallFinished, StepFinished, ContextChanged, PlanUpdated, FileChanged, JobChanged, StageNote,
        UsageRecorded, Warned, TurnFinished,
    )
}  # fmt: skip


def to_record(event: Event) -> dict[str, Any]:
    """The JSON object of `event`: `v`, the envelope, `type`, then its own fields."""
    values = event.__dict__
    record: dict[str, Any] = {"v": PROTOCOL_VERSION}
    for name in Event.fields:
        record[name] = values[name]
    record["type"] = event.type
    return record | values


def from_record(record: Mapping[str, Any]) -> Event | None:
    """The event of a JSON object; None for a type that this version does not know.

    Unknown fields are ignored. Raises TypeError when a field is missing or has another type.
    """
    kind = EVENT_TYPES.get(record.get("type", ""))
    if kind is None:
        return None
    given = {name: record[name] for name in kind.fields if name in record}
    kind.check(given)
    return kind(**given)
