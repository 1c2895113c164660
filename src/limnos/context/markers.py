"""The one line that stands where steps were sunk: nothing is lost silently."""

from collections import Counter
from collections.abc import Sequence

from limnos.kernel.conversation import Said, Step, Unit

TOPICS = 6


def marker(sunk: Sequence[Unit]) -> str:
    """How many steps left the window, from when to when, and what about; empty when none did."""
    steps = [unit for unit in sunk if isinstance(unit, Step)]
    if not sunk:
        return ""
    said = [unit for unit in sunk if isinstance(unit, Said)]
    tools = Counter(tool for step in steps for tool in step.tools)
    parts = [
        f"{len(steps)} steps and {len(said)} messages left this window",
        f"{sunk[0].time} to {sunk[-1].time}",
    ]
    if tools:
        parts.append("tools: " + ", ".join(name for name, _ in tools.most_common(TOPICS)))
    targets = _targets(steps)
    if targets:
        parts.append("about: " + ", ".join(targets))
    return f"[{'; '.join(parts)}. They are kept whole in the session's log; ask if you need one of them.]"


def _targets(steps: Sequence[Step]) -> list[str]:
    """The newest short argument values: paths, patterns, commands."""
    found: dict[str, None] = {}
    for step in reversed(steps):
        for call in step.calls:
            for value in (call.arguments or {}).values():
                if isinstance(value, str) and 2 < len(value) <= 60 and "\n" not in value:
                    found.setdefault(value)
        if len(found) >= TOPICS:
            break
    return list(found)[:TOPICS]
