"""What a tool is. A tool takes its input and output as arguments; it never looks for them."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ErrorReason, ToolError
from limnos.kernel.model import ToolSpec
from limnos.kernel.seams import Rule

Effects: TypeAlias = Literal["none", "local", "external"]
# The tool that pages through a result which was too large, and its plugin, offered once there is one. The
# kernel names it where it cuts a result; whoever puts a session together registers it.
BLOCK_READ, BLOCKS = "block_read", "blocks"
TOOLS_OPEN = "tools_open"  # the tool that opens groups which the system prompt names
ANYTHING = "anything"  # the subject of a call whose tool has none


class Report(Protocol):
    """Where a running tool tells how far it is; returns at once."""

    def __call__(self, text: str, fraction: float | None = None) -> None: ...


class ToolContext(NamedTuple):
    """What a call knows of its surroundings: the call id, the folder it works in, a place for progress.

    `rests_on` is that of the findings it was allowed by.
    """

    call: str
    cwd: str
    report: Report
    rests_on: str = ""


class Output(NamedTuple):
    """What a tool returns.

    `text` is for the model, `summary` one line for people. `exit` is the exit status of a command.
    `error` makes the call a failure whatever `text` says. `changed`: the work changed something, though
    the tool has no effects of its own.
    """

    text: str
    summary: str = ""
    exit: int | None = None
    error: ToolError | None = None
    origin: str = "kernel"
    changed: bool = False


class ToolFailure(Exception):  # noqa: N818 - a failure is a result, raised only inside a tool
    """Raised by a tool that cannot do what it was asked; becomes the result that the model reads."""

    def __init__(self, reason: ErrorReason, detail: str, hint: str = "") -> None:
        super().__init__(detail)
        self.error = ToolError(reason, detail, hint)


Execute: TypeAlias = Callable[[Arguments, ToolContext], Awaitable[Output]]


class Preview(NamedTuple):
    """What a call would do, for the gate's question: a diff or a sentence, and the rule `always` stores."""

    text: str = ""
    reasons: tuple[str, ...] = ()
    rule: Rule | None = None
    fault: ToolError | None = None


class Tool(NamedTuple):
    """A tool and its flags.

    `needs_approval` may look at the arguments. `subject` is what rules are compared with (a path); `findings`
    take its place where a call does several things, as a command line does. `edits_files` passes in mode auto
    inside a trusted workspace. `preflight` says why a call cannot work here at all, before anybody is asked;
    `sandbox` names what the call will run in. `preview` is asked only when a person would be asked, and may
    raise ToolFailure: then the call fails at once, and nobody is asked. `state` is a digest of what the
    preview rests on: when it is another one at the time of the call, the call is refused.
    `private` tools are the owner's alone. `repeatable` tools may be called with the same arguments again
    and again (polling).
    `timeout_s` is in seconds; `after_timeout` says what became of the work then. `no_memory` and `cleaner`
    decide what of the output is remembered and how.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Execute
    effects: Effects = "none"
    needs_approval: bool | Callable[[Arguments], bool] = False
    parallel_safe: bool = False
    serial: bool = False
    timeout_s: float = 60.0
    after_timeout: Literal["killed", "abandoned"] = "abandoned"
    private: bool = False
    edits_files: bool = False
    repeatable: bool = False
    no_memory: bool = False
    cleaner: Callable[[str], str] | None = None
    subject: Callable[[Arguments], str] | None = None
    findings: Callable[[Arguments], Findings] | None = None
    preflight: Callable[[Arguments], ToolError | None] | None = None
    sandbox: Callable[[Arguments], str] | None = None
    preview: Callable[[Arguments], Preview] | None = None
    state: Callable[[Arguments], str] | None = None
    plugin: str = "kernel"

    def spec(self, wire_name: str) -> ToolSpec:
        """What a model is told, under the name the registry gave the tool."""
        return ToolSpec(wire_name, self.description, self.parameters)


def asks_of(tool: Tool, arguments: Arguments) -> bool:
    """Whether these arguments need an approval when no rule decides; a fault of the tool means yes."""
    if not callable(tool.needs_approval):
        return tool.needs_approval
    try:
        return tool.needs_approval(arguments)
    except Exception:  # noqa: BLE001 - the border to tools
        return True


def findings_of(tool: Tool, arguments: Arguments) -> Findings:
    """What a call does; of a tool that cannot say, one part that no rule with a pattern of its own covers.

    A fault of the tool asks in every mode.
    """
    try:
        if tool.findings is not None:
            return tool.findings(arguments)
        return Findings((Part(subject=tool.subject(arguments) if tool.subject else ANYTHING),))
    except Exception as error:  # noqa: BLE001 - the border to tools
        return Findings((), always=f"what it does cannot be told: {type(error).__name__}")


def preflight_of(tool: Tool, arguments: Arguments) -> ToolError | None:
    """Why a call cannot work here; a fault of the tool stops nothing."""
    if tool.preflight is None:
        return None
    try:
        return tool.preflight(arguments)
    except Exception:  # noqa: BLE001 - the border to tools
        return None


def sandbox_of(tool: Tool, arguments: Arguments) -> str:
    """What a call will run in, for the record."""
    if tool.sandbox is None:
        return "none"
    try:
        return tool.sandbox(arguments)
    except Exception:  # noqa: BLE001 - the border to tools
        return "none"


def rests_on(tool: Tool, arguments: Arguments, findings: Findings) -> str:
    """What a decision about a call rests on: what its findings name, and the tool's own state."""
    return "\n".join(filter(None, (findings.rests_on, state_of(tool, arguments))))


def state_of(tool: Tool, arguments: Arguments) -> str:
    """The digest of what a call's preview rests on; a fault of the tool is a state of its own."""
    if tool.state is None:
        return ""
    try:
        return tool.state(arguments)
    except Exception as error:  # noqa: BLE001 - the border to tools
        return f"{type(error).__name__}"


def preview_of(tool: Tool, arguments: Arguments) -> Preview:
    """What a call would do, for the question; a preview that breaks says so and stops nothing."""
    if tool.preview is None:
        return Preview()
    try:
        return tool.preview(arguments)
    except ToolFailure as failure:
        return Preview(fault=failure.error)
    except Exception as error:  # noqa: BLE001 - the border to tools, as for the call itself
        return Preview("", (f"what it would change cannot be shown: {type(error).__name__}",))
