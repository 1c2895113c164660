"""Cases `pairing`: message lists that were cut, cancelled or mixed up."""

from typing import Any

from limnos.kernel.messages import Message
from limnos.kernel.pairing import check_pairing
from limnos.providers.openai_codec import decode_messages
from limnos.testing.case_kinds.same import same_json


def check(case: dict[str, Any]) -> str | None:
    """None when the list is judged and repaired as expected, and a second repair changes nothing."""
    expect = case["expect"]
    pairing = check_pairing(decode_messages(case["messages"]))
    got = [_plain(message) for message in pairing.messages]
    again = check_pairing(pairing.messages)
    if not again.valid or again.messages != pairing.messages:
        return "a second repair changed it again"
    if expect["valid"] is not None and pairing.valid != expect["valid"]:
        return f"valid: {pairing.valid}"
    if (pairing.dropped, pairing.synthesised) != (expect["dropped"], expect["synthesised"]):
        return f"dropped {pairing.dropped}, synthesised {pairing.synthesised}"
    wanted = [_plain(message) for message in decode_messages(expect["repaired"])]
    for place, message in enumerate(expect["repaired"]):
        wanted[place]["unknown"] = message.get("outcome") == "unknown"
    if expect.get("ids", case.get("ids")) == "any":
        got, wanted = _numbered(got), _numbered(wanted)
    return _difference(got, wanted)


def _plain(message: Message) -> dict[str, Any]:
    result = message.result
    return {
        "role": message.role,
        "parts": repr(result.parts if result else message.parts),
        "calls": [[call.id, call.name, dict(call.arguments or {}), call.raw] for call in message.calls],
        "result": result.call_id if result else None,
        "unknown": bool(result and result.outcome == "unknown"),
    }


def _numbered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Ids by place: within a step the n-th call and the n-th result."""
    numbered: list[dict[str, Any]] = []
    ids: list[str] = []
    for message in messages:
        fresh = dict(message)
        if message["calls"]:
            ids = [call[0] for call in message["calls"]]
            if len(set(ids)) < len(ids):
                ids = [f"{name}#{place}" for place, name in enumerate(ids)]
            fresh["calls"] = [[place, *call[1:]] for place, call in enumerate(message["calls"])]
        if message["result"] is not None:
            fresh["result"] = ids.index(message["result"]) if message["result"] in ids else -1
        numbered.append(fresh)
    return numbered


def _difference(got: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> str | None:
    if len(got) != len(wanted):
        return f"{len(got)} messages instead of {len(wanted)}"
    for place, (one, other) in enumerate(zip(got, wanted, strict=True)):
        if one["unknown"] and other["unknown"]:
            one, other = one | {"parts": ""}, other | {"parts": ""}  # noqa: PLW2901
        if not same_json(one, other):
            return f"message {place}: {one} instead of {other}"
    return None
