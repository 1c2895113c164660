import json
from typing import Any

import pytest

from limnos.testing.case_kinds import retry_after, streaming

from .support import CASES


def cases(name: str) -> list[Any]:
    lines = (CASES / name).read_text(encoding="utf-8").split("\n")
    return [pytest.param(case, id=case["id"]) for case in map(json.loads, filter(str.strip, lines))]


@pytest.mark.parametrize("case", cases("streaming.jsonl"))
def test_a_streamed_body_is_read_as_the_case_file_says(case: dict[str, Any]) -> None:
    assert streaming.check(case) is None


@pytest.mark.parametrize("case", cases("retry_after.jsonl"))
def test_a_retry_after_header_is_read_as_the_case_file_says(case: dict[str, Any]) -> None:
    assert retry_after.check(case) is None


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("text", "x"),
        ("complete", False),
        ("usage", {"prompt_tokens": 1}),
        ("calls", [{"name": "f", "arguments": {}}]),
    ],
)
def test_the_check_sees_a_difference(field: str, wrong: object) -> None:
    case = json.loads((CASES / "streaming.jsonl").read_text(encoding="utf-8").split("\n")[0])
    assert streaming.check(case) is None
    case["expect"][field] = wrong
    assert field in (streaming.check(case) or "").replace("prompt_tokens", "usage")
