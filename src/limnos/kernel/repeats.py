"""What a turn has tried already: the third identical call is answered, not run; so is endless failing."""

import hashlib
import json
from collections import Counter

from limnos.kernel.messages import Arguments, ToolError, ToolResult, result_text
from limnos.kernel.tools import Tool

SAME_CALLS = 2
SAME_FAILURES = 3
FAILED_IN_VAIN = 2
DEMAND = "the same failed before and nothing was changed since: take another approach now"


class Repeats:
    """Identical calls and identical failures of one turn. `changed`: a call that had effects ran."""

    def __init__(self) -> None:
        self._seen: dict[str, list[str]] = {}
        self._failures: Counter[str] = Counter()
        self._in_vain: Counter[str] = Counter()
        self.stuck = ""
        self.changed = False

    def verdict(self, tool: Tool, name: str, arguments: Arguments) -> ToolError | None:
        """An error instead of a third identical call: same name, arguments and result both times before."""
        key = _key(name, arguments)
        if self._in_vain[key] >= FAILED_IN_VAIN:
            return ToolError(
                "refused",
                "this failed twice with nothing changed in between; it was not run again",
                "change what makes it fail, do it another way, or tell the person what is in the way",
            )
        digests = self._seen.get(key, [])
        if tool.repeatable or len(digests) < SAME_CALLS or len(set(digests[-SAME_CALLS:])) > 1:
            return None
        return ToolError(
            "refused",
            "this call was made twice in this turn with the same result; it was not run again",
            "use the result you have, or try something else",
        )

    def demanding(
        self, tool: Tool, name: str, arguments: Arguments, error: ToolError | None
    ) -> ToolError | None:
        """`error`, which at the second failure with nothing changed in between demands another approach."""
        if error is None or tool.effects == "none" or not self._in_vain[_key(name, arguments)]:
            return error
        if DEMAND in error.hint:  # a record that is played again
            return error
        return error._replace(hint=f"{error.hint}; {DEMAND}" if error.hint else DEMAND)

    def record(self, tool: Tool | None, name: str, arguments: Arguments, result: ToolResult) -> None:
        """Take note of a result. A call with effects makes everything before it worth asking again."""
        if result.error is not None:
            self._fail(name, arguments, result)
        if tool is not None and tool.effects != "none" and result.outcome in ("done", "failed", "unknown"):
            self.changed = True
            self._seen.clear()
            self._count_in_vain(tool, _key(name, arguments), result)
        digest = hashlib.sha256(result_text(result).encode("utf-8", "surrogatepass")).hexdigest()
        self._seen.setdefault(_key(name, arguments), []).append(digest)

    def note_change(self) -> None:
        """Somebody else changed something, a sub-agent: everything before is worth asking again."""
        self.changed = True
        self._seen.clear()
        self._in_vain.clear()

    def _count_in_vain(self, tool: Tool, key: str, result: ToolResult) -> None:
        """A failure changes nothing that another call would see, except through what else it did."""
        failed = self._in_vain[key] + 1 if result.outcome == "failed" and not tool.repeatable else 0
        self._in_vain.clear()
        self._in_vain[key] = failed

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
