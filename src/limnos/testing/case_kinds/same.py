"""JSON compared with types: `true` is not `1`, `1.0` equals `1`."""

from typing import Any, cast


def same_json(left: Any, right: Any) -> bool:
    """Whether two JSON values are the same."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        a, b = cast("dict[str, Any]", left), cast("dict[str, Any]", right)
        return a.keys() == b.keys() and all(same_json(a[key], b[key]) for key in a)
    if isinstance(left, list) and isinstance(right, list):
        c, d = cast("list[Any]", left), cast("list[Any]", right)
        return len(c) == len(d) and all(same_json(x, y) for x, y in zip(c, d, strict=True))
    return left == right
