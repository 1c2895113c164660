"""Cases `arguments`: what a model sent, against a tool's schema."""

from typing import Any

from limnos.kernel.arguments import ParseFailure, parse_arguments
from limnos.kernel.seams import Invalid
from limnos.sdk.schema import SchemaValidator
from limnos.testing.case_kinds.same import same_json

_VALIDATE = SchemaValidator()


def check(case: dict[str, Any]) -> str | None:
    """None when the arguments are read or refused as the case expects; else what came."""
    value, detail = _outcome(case["schema"], _raw(case))
    expect = case["expect"]
    if expect["ok"]:
        if value is None:
            return f"refused: {detail}"
        return None if same_json(value, expect["value"]) else f"read as {value!r}"
    if value is not None:
        return f"accepted as {str(value)[:200]}"
    missing = [item for item in expect.get("mentions", []) if not _mentions(detail, item)]
    return f"{detail!r} does not mention {missing}" if missing else None


def _raw(case: dict[str, Any]) -> Any:
    repeat = case.get("raw_repeat")
    if repeat is None:
        return case.get("raw")
    count = repeat["count"]
    body = repeat["open"] * count + repeat["middle"] + repeat["close"] * count
    return repeat["prefix"] + body + repeat["suffix"]


def _outcome(schema: dict[str, Any], raw: Any) -> tuple[dict[str, Any] | None, str]:
    parsed = parse_arguments(raw)
    if isinstance(parsed, ParseFailure):
        return None, f"{parsed.detail} {parsed.hint}"
    checked = _VALIDATE(schema, parsed)
    if isinstance(checked, Invalid):
        return None, f"{checked.detail} {checked.hint}"
    return checked.value, ""


def _mentions(text: str, item: str) -> bool:
    return any(word.lower() in text.lower() for word in item.split("|"))
