"""The seam to language models: one request in, one stream of deltas out."""

from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from limnos.kernel.messages import Message, ToolCall

FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "error", "incomplete"]


class ToolSpec(NamedTuple):
    """What a model is told about a tool: its wire name, its purpose and a JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Request(NamedTuple):
    """One call of a model.

    `max_tokens` bounds the reply, reasoning included. `extra` passes through to the route untouched.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 1024
    temperature: float = 0.0
    extra: Mapping[str, Any] = MappingProxyType({})


class TextDelta(NamedTuple):
    """A piece of the answer."""

    text: str


class ReasoningDelta(NamedTuple):
    """A piece of reasoning; a signature, where a route has one, comes with the last piece."""

    text: str
    signature: str | None = None


class CallDelta(NamedTuple):
    """A fragment of a call as it grows. For display only: what runs is in `Finish.calls`."""

    position: int
    name: str
    fragment: str


class Notice(NamedTuple):
    """A word to the person before the reply begins, such as why nothing comes yet; it does not begin it."""

    code: str
    text: str
    fix: str = ""


class Usage(NamedTuple):
    """Tokens of one request as the provider counted them.

    `expected_tokens` is the adapter's own rough count of what it sent, where a server may cut silently.
    """

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    expected_tokens: int = 0


class Finish(NamedTuple):
    """The end of a reply; always the last delta, exactly one.

    `reason` is `incomplete` when the stream ended without a finish marker and `error` when the provider
    sent an error object; `detail` then says what it sent. `calls` are assembled, with unique ids.
    `runnable` is false when none of the calls may run.
    """

    reason: FinishReason
    calls: tuple[ToolCall, ...] = ()
    detail: str = ""

    @property
    def runnable(self) -> bool:
        """Whether the calls of this reply may run; the finish reason never decides alone."""
        return bool(self.calls) and self.reason in ("stop", "tool_calls", "content_filter")


Delta: TypeAlias = TextDelta | ReasoningDelta | CallDelta | Notice | Usage | Finish


class Model(Protocol):
    """A language model.

    `stream` yields deltas and ends with exactly one `Finish`. It raises only `errors.ModelError`
    subclasses, and only before the first delta that is no `Notice` was yielded; later faults end in a
    `Finish` with reason `error` or `incomplete`. It must stop its work when the iterator is closed.
    """

    @property
    def name(self) -> str:
        """`route/model`, for example `embedded/qwen2.5-coder-1.5b`."""
        ...

    @property
    def context_tokens(self) -> int:
        """The size of the window in tokens."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Send `request` and yield the reply as it comes."""
        ...

    def count_tokens(self, text: str) -> int:
        """An estimate of the tokens of `text` for this model; fast, never a network call."""
        ...

    async def close(self) -> None:
        """Give back connections and child processes; may be called twice."""
        ...
