"""Messages and tools in the JSON of OpenAI's chat completions, and back."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from limnos.kernel.arguments import ParseFailure, parse_arguments
from limnos.kernel.messages import (
    Media,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    ToolCall,
    ToolResult,
    result_text,
    text_of,
)
from limnos.kernel.model import ToolSpec
from limnos.providers.routes import ReasoningPolicy

Json = dict[str, Any]

# Providers refuse other function names, also in what they themselves said earlier.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_LARGEST_IMAGE = 5 * 1024 * 1024
_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "tool": "tool", "function": "tool",
}  # fmt: skip


class Dialect(NamedTuple):
    """What a route wants. `model` is the `Model.name` whose signed reasoning may be sent back.

    `load` gives the bytes of a block; None: the model sees no images and is told so.
    """

    model: str = ""
    reasoning: ReasoningPolicy = "drop"
    reasoning_field: str = "reasoning_content"
    load: Callable[[str], bytes] | None = None


def encode_messages(messages: Iterable[Message], dialect: Dialect) -> list[Json]:
    """`messages` for a request. The list must have passed the pairing check."""
    return [_encode(message, dialect) for message in messages]


def encode_tools(tools: Iterable[ToolSpec]) -> list[Json]:
    """Tools for a request."""
    return [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.description, "parameters": dict(t.parameters)},
        }
        for t in tools
    ]


def decode_messages(items: Sequence[Mapping[str, Any]], model: str = "") -> tuple[Message, ...]:
    """Messages of OpenAI JSON, from imports and test data; `model` is noted on reasoning.

    Nothing is refused: a missing id is the empty text, an unknown role a user, content that is no text is
    named in brackets. Whether calls and results fit together is for the pairing check.
    """
    return tuple(_decode(item, model) for item in items)


def _encode(message: Message, dialect: Dialect) -> Json:
    match message.role:
        case "tool" if message.result is not None:
            return {
                "role": "tool",
                "tool_call_id": message.result.call_id,
                "content": result_text(message.result),
            }
        case "assistant":
            return _encode_assistant(message, dialect)
        case "user":
            return {"role": "user", "content": _user_content(message.parts, dialect)}
        case _:
            return {"role": message.role, "content": text_of(message.parts)}


def _encode_assistant(message: Message, dialect: Dialect) -> Json:
    text = text_of(message.parts)
    item: Json = {"role": "assistant", "content": text or (None if message.calls else "")}
    item |= _reasoning_fields(message.parts, dialect)
    if message.calls:
        item["tool_calls"] = [_encode_call(call) for call in message.calls]
    return item


def _encode_call(call: ToolCall) -> Json:
    arguments = "{}" if call.arguments is None else json.dumps(dict(call.arguments), ensure_ascii=False)
    name = _NOT_IN_NAMES.sub("_", call.name)[:_LONGEST_NAME] or "unnamed"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _reasoning_fields(parts: tuple[Part, ...], dialect: Dialect) -> Json:
    """The reasoning of an assistant turn as the route wants it; another model's signed block goes whole."""
    if dialect.reasoning == "drop":
        return {}
    blocks = [part for part in parts if isinstance(part, Reasoning)]
    kept = [block for block in blocks if block.signature is None or block.model == dialect.model]
    text = "".join(block.text for block in kept)
    fields: Json = {dialect.reasoning_field: text} if kept or dialect.reasoning == "pad" else {}
    signed = [block for block in kept if block.signature is not None]
    if signed:
        fields["reasoning_details"] = [
            {"type": "reasoning.text", "text": block.text, "signature": block.signature} for block in signed
        ]
    return fields


def _user_content(parts: tuple[Part, ...], dialect: Dialect) -> str | list[Json]:
    if not any(isinstance(part, Media) for part in parts):
        return text_of(parts)
    content: list[Json] = []
    for part in parts:
        if isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, Media):
            content.append(_encode_media(part, dialect))
    if all(item["type"] == "text" for item in content):
        return "\n".join(item["text"] for item in content)
    return content


def _encode_media(part: Media, dialect: Dialect) -> Json:
    if dialect.load is None or not part.mime.startswith("image/") or part.size > _LARGEST_IMAGE:
        why = "larger than 5 MB" if part.size > _LARGEST_IMAGE else "this model does not see it"
        return {"type": "text", "text": f"[{part.mime}, {part.size} bytes, block {part.block}: {why}]"}
    data = base64.b64encode(dialect.load(part.block)).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{part.mime};base64,{data}"}}


def _decode(item: Mapping[str, Any], model: str) -> Message:
    role = _ROLES.get(str(item.get("role")), "user")
    parts = _decode_content(item.get("content"))
    if role == "tool":
        call_id = item.get("tool_call_id")
        return Message("tool", result=ToolResult(call_id if isinstance(call_id, str) else "", "done", parts))
    if role == "assistant":
        calls = _decode_calls(item)
        return Message("assistant", (*_decode_reasoning(item, model), *parts), calls)
    return Message(role, parts)


def _decode_content(content: object) -> tuple[Part, ...]:
    if isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        return ()
    parts: list[Part] = []
    for entry in cast("list[object]", content):
        fields = cast("Json", entry) if isinstance(entry, dict) else {"text": entry}
        text = fields.get("text")
        parts.append(Text(text if isinstance(text, str) else f"[{fields.get('type', 'unknown part')}]"))
    return tuple(parts)


def _decode_reasoning(item: Mapping[str, Any], model: str) -> tuple[Reasoning, ...]:
    details = item.get("reasoning_details")
    if isinstance(details, list):
        known = [cast("Json", entry) for entry in cast("list[object]", details) if isinstance(entry, dict)]
        signed = tuple(
            Reasoning(str(entry.get("text") or ""), str(entry["signature"]), model)
            for entry in known
            if entry.get("signature")
        )
        if signed:
            return signed
    for name in ("reasoning_content", "reasoning"):
        text = item.get(name)
        if isinstance(text, str) and text:
            return (Reasoning(text, None, model),)
    return ()


def _decode_calls(item: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    listed = item.get("tool_calls")
    entries = cast("list[object]", listed) if isinstance(listed, list) else []
    if not entries:
        entries = [item.get("function_call")]
    return tuple(_decode_call(cast("Json", entry)) for entry in entries if isinstance(entry, dict))


def _decode_call(entry: Json) -> ToolCall:
    given = entry.get("function")
    function = cast("Json", given) if isinstance(given, dict) else entry
    call_id, name, raw = entry.get("id"), function.get("name"), function.get("arguments")
    text = raw if isinstance(raw, str) else "" if raw is None else json.dumps(raw)
    value = parse_arguments(text)
    failed = isinstance(value, ParseFailure)
    return ToolCall(
        id=call_id if isinstance(call_id, str) else "",
        name=name if isinstance(name, str) else "",
        arguments=None if failed else value,
        raw=text,
        parse_error=f"{value.detail}; {value.hint}" if failed else None,
        cut=value.cut if failed else False,
    )
