"""Runs a line of `retry_after.jsonl` through `providers.retry`."""

from datetime import datetime
from typing import Any

from limnos.providers.retry import retry_after

TOLERANCE_S = 0.6


def check(case: dict[str, Any]) -> str | None:
    """None when the header was read as expected, otherwise what came instead."""
    got = retry_after(case["header"], datetime.fromisoformat(case["now"]))
    wanted = case["expect"]
    if got is None or wanted is None:
        return None if got is wanted else f"{got!r} instead of {wanted!r}"
    return None if abs(got - wanted) <= TOLERANCE_S else f"{got!r} instead of {wanted!r}"
