"""What a turn has tried already: the third identical call is answered, not run; so is endless failing."""

import hashlib
import json
from collections import Counter

from limnos.kernel.messages import Arguments, ToolError, ToolResult, result_text
from limnos.kernel.tools import Tool

SAME_CALLS = 2
SAME_FAILURES = 3


class Repeats:
    """Identical calls and identical failures of one turn."""

    def __init__(self) -> None:
        self._seen: dict[str, list[str]] = {}
        self._failures: Counter[str] = Counter()
        self.stuck = ""

    def verdict(self, tool: Tool, name: str, arguments: Arguments) -> ToolError | None:
        """An error instead of a third identical call: same name, arguments and result both times before."""
        digests = self._seen.get(_key(name, arguments), [])
        if tool.repeatable or len(digests) < SAME_CALLS or len(set(digests[-SAME_CALLS:])) > 1:
            return None
        return ToolError(
            "refused",
            "this call was made twice in this turn with the same result; it was not run again",
            "use the result you have, or try something else",
        )

    def record(self, tool: Tool | None, name: str, arguments: Arguments, result: ToolResult) -> None:
        """Take note of a result. A call with effects makes everything before it worth asking again."""
        if result.error is not None:
            self._fail(name, arguments, result)
        if tool is not None and tool.effects != "none" and result.outcome in ("done", "failed", "unknown"):
            self._seen.clear()
        digest = hashlib.sha256(result_text(result).encode("utf-8", "surrogatepass")).hexdigest()
        self._seen.setdefault(_key(name, arguments), []).append(digest)

    def _fail(self, name: str, arguments: Arguments, result: ToolResult) -> None:
        assert result.error is not None
        if result.error.reason not in ("invalid_arguments", "not_found", "refused"):
            return
        key = f"{_key(name, arguments)} {result.error.reason} {result.error.detail}"
        self._failures[key] += 1
        if self._failures[key] >= SAME_FAILURES:
            self.stuck = (
                f"stopped: {name} failed {SAME_FAILURES} times in the same way: {result.error.detail}"
            )


def _key(name: str, arguments: Arguments) -> str:
    return name + json.dumps(dict(arguments), sort_keys=True, default=str)
