"""Events of calls and of the gate's questions, a part of the union in `kernel.events`."""

from collections.abc import Sequence
from typing import Any, ClassVar

from limnos.kernel.event_base import Event


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
