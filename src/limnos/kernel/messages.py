"""The one canonical form of a conversation. Providers encode it at the edge, per route."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Outcome: TypeAlias = Literal["done", "failed", "denied", "cancelled", "unknown"]
ErrorReason: TypeAlias = Literal[
    "invalid_arguments", "not_found", "unauthorized", "timeout", "unavailable", "refused", "failed"
]
Arguments: TypeAlias = Mapping[str, Any]


class Text(NamedTuple):
    """Plain text."""

    text: str


class Media(NamedTuple):
    """A picture, sound or video held as a block; `size` is in bytes."""

    block: str
    mime: str
    size: int


class Reasoning(NamedTuple):
    """What a model thought before it spoke, kept byte for byte.

    `signature` is opaque and belongs to `model`: a signed block is dropped as a whole for another model.
    """

    text: str
    signature: str | None = None
    model: str = ""


Part: TypeAlias = Text | Media | Reasoning


class ToolCall(NamedTuple):
    """A call that a model asked for.

    `arguments` is the parsed JSON object, or None when `raw` could not be parsed; then `parse_error`
    says why. `cut` is true when the provider stopped in the middle of it: such a call never runs.
    """

    id: str
    name: str
    arguments: Arguments | None
    raw: str = ""
    parse_error: str | None = None
    cut: bool = False


class ToolError(NamedTuple):
    """Why a call did not succeed, for the model: the class of the fault, what happened, what to do."""

    reason: ErrorReason
    detail: str
    hint: str = ""


class ToolResult(NamedTuple):
    """The one result of one call."""

    call_id: str
    outcome: Outcome
    parts: tuple[Part, ...] = ()
    error: ToolError | None = None


class Message(NamedTuple):
    """One entry of the list that goes to a provider.

    Only an assistant message has `calls`; only a tool message has a `result`.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    result: ToolResult | None = None


def text_of(parts: tuple[Part, ...]) -> str:
    """The text parts joined; media and reasoning are left out."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def system(text: str) -> Message:
    """A system message of one text part."""
    return Message("system", (Text(text),))


def user(text: str) -> Message:
    """A user message of one text part."""
    return Message("user", (Text(text),))


def tool_message(result: ToolResult) -> Message:
    """The message that carries `result`."""
    return Message("tool", result=result)


def result_text(result: ToolResult) -> str:
    """What a model reads of a result: its text, or the error as three short lines.

    Never empty: an empty success says so, since a model that reads nothing invents something.
    """
    text = text_of(result.parts)
    if result.error is None:
        return text or "(the tool finished and returned nothing)"
    lines = [f"error ({result.error.reason}): {result.error.detail}"]
    if result.error.hint:
        lines.append(f"what to do: {result.error.hint}")
    if text:
        lines.append(text)
    return "\n".join(lines)
