"""A unit as one JSON text, whole, and back: what is sunk returns exactly as it was."""

import json
from typing import Any, TypeAlias

from limnos.kernel.messages import Media, Part, Reasoning, Text, ToolCall, ToolError, ToolResult
from limnos.kernel.units import Said, Step

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))
Json: TypeAlias = Any


def as_json(value: Json) -> str:
    """`value` as compact JSON; halves of characters become question marks, as they do in a log."""
    return _ENCODER.encode(value).encode("utf-8", "replace").decode("utf-8")


def packed(unit: Said | Step) -> str:
    """All of `unit` but what belongs to the context engine."""
    if isinstance(unit, Said):
        return as_json(["said", unit.seq, unit.turn, unit.time, unit.text, list(unit.names), unit.principal])
    return as_json(
        [
            "step",
            unit.seq,
            unit.turn,
            unit.time,
            unit.number,
            [_part(part) for part in unit.parts],
            [list(call) for call in unit.calls],
            [[call, *_result(result)] for call, result in unit.results.items()],
            sorted(unit.started),
            list(unit.tools),
            unit.complete,
            unit.open,
        ]
    )


def unpacked(content: str) -> Said | Step:
    """The unit that `packed` gave `content`. Raises ValueError for what is none."""
    try:
        kind, *fields = json.loads(content)
        if kind == "said":
            seq, turn, time, text, names, principal = fields
            return Said(int(seq), int(turn), str(time), str(text), list(names), str(principal))
        if kind == "step":
            return _step(fields)
    except (TypeError, KeyError, IndexError) as error:
        raise ValueError(f"it is no unit: {error}") from None
    raise ValueError(f"it is no unit: {kind!r}")


def _step(fields: list[Json]) -> Step:
    seq, turn, time, number, parts, calls, results, started, tools, complete, is_open = fields
    return Step(
        int(seq),
        int(turn),
        int(number),
        str(time),
        tuple(_part_of(part) for part in parts),
        [ToolCall(*call) for call in calls],
        {str(call): _result_of(str(call), rest) for call, *rest in results},
        set(started),
        list(tools),
        bool(complete),
        bool(is_open),
    )


def _part(part: Part) -> Json:
    match part:
        case Text():
            return ["text", part.text]
        case Media():
            return ["media", *part]
        case Reasoning():
            return ["reasoning", *part]


def _part_of(given: Json) -> Part:
    kind, *fields = given
    return {"text": Text, "media": Media, "reasoning": Reasoning}[kind](*fields)


def _result(result: ToolResult) -> Json:
    error = None if result.error is None else list(result.error)
    return [result.outcome, [_part(part) for part in result.parts], error]


def _result_of(call: str, given: Json) -> ToolResult:
    outcome, parts, error = given
    return ToolResult(
        call, outcome, tuple(_part_of(part) for part in parts), None if error is None else ToolError(*error)
    )
