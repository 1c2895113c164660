"""Runs a line of `streaming.jsonl`: a real loopback server sends the body to the real provider."""

import asyncio
import base64
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from limnos.kernel.messages import ToolCall, user
from limnos.kernel.model import Finish, ReasoningDelta, Request, TextDelta, ToolSpec, Usage
from limnos.providers.openai_compatible import OpenAICompatible, Surroundings
from limnos.providers.routes import Route
from limnos.testing.case_kinds.same import same_json
from limnos.testing.doubles import FixedClock
from limnos.testing.model_server import Answer, Ending, ModelServer

_ENDINGS: dict[str, Ending] = {"done": "done", "eof": "done", "reset": "reset"}
_SCHEMA = {"type": "object"}


@dataclass(slots=True)
class Heard:
    """What a consumer of the stream got."""

    text: str = ""
    reasoning: str = ""
    usage: Usage | None = None
    finishes: list[Finish] = field(default_factory=list[Finish])


def check(case: dict[str, Any]) -> str | None:
    """None when the reply was read as expected, in one read and byte by byte; otherwise what came instead."""
    return asyncio.run(_check(case))


async def _check(case: dict[str, Any]) -> str | None:
    tools = tuple(ToolSpec(name, name, _SCHEMA) for name in case.get("tools", ()))
    ways = _ways_to_send(case)
    ends = _ENDINGS[case["ends"]]
    replies: dict[str, Heard] = {}
    async with ModelServer([Answer(frames, ends=ends) for frames in ways.values()]) as server:
        model = OpenAICompatible(Route("case", server.url, "m"), Surroundings(FixedClock()))
        for way in ways:
            replies[way] = await _hear(model, Request((user("go"),), tools))
        await model.close()
    for way, heard in replies.items():
        if (wrong := _compare(heard, case["expect"])) is not None:
            return f"{way}: {wrong}"
    return None


def _ways_to_send(case: dict[str, Any]) -> dict[str, Sequence[bytes]]:
    if "frames" in case:
        return {"frames": [base64.b64decode(frame) for frame in case["frames"]]}
    body = case["sse"].encode()
    return {"one read": [body], "byte by byte": [body[place : place + 1] for place in range(len(body))]}


async def _hear(model: OpenAICompatible, request: Request) -> Heard:
    heard = Heard()
    async with aclosing(model.stream(request)) as deltas:
        async for delta in deltas:
            match delta:
                case TextDelta(text):
                    heard.text += text
                case ReasoningDelta(text):
                    heard.reasoning += text
                case Usage():
                    heard.usage = delta
                case Finish():
                    heard.finishes.append(delta)
                case _:
                    pass
    return heard


def _compare(heard: Heard, expect: dict[str, Any]) -> str | None:
    if len(heard.finishes) != 1:
        return f"{len(heard.finishes)} finishes"
    finish = heard.finishes[0]
    complete = finish.reason not in ("incomplete", "error")
    found = {
        "text": heard.text,
        "reasoning": heard.reasoning,
        "complete": complete,
        "execute": finish.runnable,
        "calls": [{"name": call.name, "arguments": _plain(call)} for call in finish.calls],
    }
    wanted = {name: expect[name] for name in found if name in expect}
    wanted["calls"] = [{name: call[name] for name in ("name", "arguments")} for call in expect["calls"]]
    for name, value in wanted.items():
        if not same_json(found[name], value):
            return f"{name} is {found[name]!r} instead of {value!r}"
    return _compare_calls(finish.calls, finish, expect) or _compare_rest(heard, finish, expect)


def _plain(call: ToolCall) -> dict[str, Any] | None:
    return None if call.arguments is None else dict(call.arguments)


def _compare_calls(calls: tuple[ToolCall, ...], finish: Finish, expect: dict[str, Any]) -> str | None:
    ids = [call.id for call in calls]
    if expect.get("unique_ids") and (len(set(ids)) != len(ids) or not all(map(str.strip, ids))):
        return f"the ids {ids!r} are not unique"
    for wanted, got in zip(expect.get("ids", ()), ids, strict=False):
        if wanted is not None and wanted != got:
            return f"the id is {got!r} instead of {wanted!r}"
        if wanted is None and got in expect["ids"]:
            return f"the id {got!r} was given to two calls"
    for call, wanted in zip(calls, expect["calls"], strict=True):
        runs = finish.runnable and call.arguments is not None and not call.cut
        if runs is not wanted.get("execute", expect["execute"] and wanted["arguments"] is not None):
            return f"whether {call.name!r} may run is {runs}"
    return None


def _compare_rest(heard: Heard, finish: Finish, expect: dict[str, Any]) -> str | None:
    usage: dict[str, int] | None = expect.get("usage")
    if (usage is None) is not (heard.usage is None):
        return f"usage is {heard.usage!r} instead of {usage!r}"
    for name, number in (usage or {}).items():
        if name != "total_tokens" and getattr(heard.usage, name) != number:
            return f"{name} is {getattr(heard.usage, name)} instead of {number}"
    if (named := expect.get("finish")) and finish.reason != named:
        return f"the finish reason is {finish.reason!r} instead of {named!r}"
    if (part := expect.get("error_contains")) and part not in finish.detail:
        return f"the error says {finish.detail!r}, not {part!r}"
    return None
