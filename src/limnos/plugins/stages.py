"""Stage payloads and outcomes as plain JSON, and handlers that run in a plugin's process."""

from typing import Any, TypeAlias, cast

from limnos.kernel.messages import Message, Text, ToolCall, ToolError, ToolResult, text_of, user
from limnos.kernel.stages import (
    Action,
    AnswerWith,
    CallPayload,
    ContextPayload,
    Deny,
    InputPayload,
    OutputPayload,
    Pass,
    Payload,
    ReplyPayload,
    ResultPayload,
    Rewrite,
)
from limnos.plugins.payloads import PayloadError

Json: TypeAlias = dict[str, Any]


def shown(payload: Payload) -> Json:
    """The payload as a plugin gets it; `docs/protocol/plugins.md` lists the fields of each stage."""
    match payload:
        case InputPayload(text=text, source=source, principal=principal):
            return {"text": text, "source": source, "principal": str(principal)}
        case ContextPayload(messages=messages):
            return {"messages": [_message(one) for one in messages]}
        case ReplyPayload(text=text, calls=calls):
            return {"text": text, "calls": [_call(one) for one in calls]}
        case CallPayload():
            return {**payload._asdict(), "arguments": dict(payload.arguments)}
        case ResultPayload(tool=tool, plugin=plugin, result=result):
            return {"tool": tool, "plugin": plugin, **_result(result)}
        case OutputPayload(text=text):
            return {"text": text}


def action(payload: Payload, answer: Any, new: Json | None, plugin: str) -> Action:
    """What `plugin` said to `payload`; `new` is the payload of a rewrite. Raises PayloadError."""
    given = cast("Json", answer) if isinstance(answer, dict) else {}
    match given.get("action"):
        case "pass":
            return Pass()
        case "deny":
            return Deny(_text(given, "reason"))
        case "answer":
            return AnswerWith(_text(given, "text"))
        case "rewrite" if new is not None:
            return Rewrite(_rewritten(payload, new, plugin))
        case other:
            raise PayloadError(f"the action is pass, rewrite, deny or answer, not {other!r}")


def _rewritten(payload: Payload, new: Json, plugin: str) -> Payload:
    """`payload` with the fields that may change taken from `new`; other fields are ignored."""
    match payload:
        case InputPayload():
            return payload._replace(text=_text(new, "text"))
        case OutputPayload():
            return payload._replace(text=_text(new, "text"))
        case ContextPayload(messages=messages):
            added = new.get("add", [])
            if not isinstance(added, list) or not all(
                isinstance(one, str) for one in cast("list[Any]", added)
            ):
                raise PayloadError("pre_action may only add: a list of texts")
            return ContextPayload((*messages, *(_note(plugin, one) for one in cast("list[str]", added))))
        case ReplyPayload(text=text, calls=calls):
            changed = _changed_calls(calls, new["calls"]) if "calls" in new else calls
            return ReplyPayload(_text(new, "text") if "text" in new else text, changed)
        case CallPayload():
            return payload._replace(arguments=_object(new, "arguments"))
        case ResultPayload(result=result):
            return payload._replace(result=_changed_result(result, new))


def _note(plugin: str, text: str) -> Message:
    """What a plugin adds for the model to read: never as the person's own word."""
    return user(f"[note of the plugin {plugin}, not of the person]\n{text}")


def _changed_calls(calls: tuple[ToolCall, ...], given: Any) -> tuple[ToolCall, ...]:
    """The calls that a plugin leaves, each under the id that it had, in the order it wants."""
    known = {call.id: call for call in calls}
    if not isinstance(given, list):
        raise PayloadError("calls is a list")
    kept: list[ToolCall] = []
    for one in cast("list[Any]", given):
        record = cast("Json", one) if isinstance(one, dict) else {}
        call = known.pop(str(record.get("id")), None)
        if call is None:
            raise PayloadError(f"there is no call {record.get('id')!r}, or it stands twice")
        arguments = _object(record, "arguments") if record.get("arguments") is not None else None
        same = record.get("name") == call.name and arguments == call.arguments
        kept.append(call if same else ToolCall(call.id, _text(record, "name"), arguments))
    return tuple(kept)


def _changed_result(result: ToolResult, new: Json) -> ToolResult:
    error = result.error
    if error is not None and isinstance(new.get("error"), dict):
        said = cast("Json", new["error"])
        error = ToolError(error.reason, _text(said, "detail"), str(said.get("hint", error.hint)))
    parts = (Text(_text(new, "text")),) if "text" in new else result.parts
    return result._replace(parts=parts, error=error)


def _message(message: Message) -> Json:
    record: Json = {"role": message.role, "text": text_of(message.parts)}
    if message.calls:
        record["calls"] = [_call(one) for one in message.calls]
    return record | (_result(message.result) if message.result is not None else {})


def _call(call: ToolCall) -> Json:
    arguments = dict(call.arguments) if call.arguments is not None else None
    return {"id": call.id, "name": call.name, "arguments": arguments}


def _result(result: ToolResult) -> Json:
    error = result.error._asdict() if result.error is not None else None
    text = text_of(result.parts)
    return {"call": result.call_id, "outcome": result.outcome, "text": text, "error": error}


def _text(given: Json, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        raise PayloadError(f"{name} is no text")
    return value


def _object(given: Json, name: str) -> Json:
    value = given.get(name)
    if not isinstance(value, dict):
        raise PayloadError(f"{name} is no object")
    return cast("Json", value)
