"""The one note that stands where steps were sunk: nothing is lost silently."""

from collections import Counter
from collections.abc import Sequence

from limnos.kernel.units import Step, Unit

TOPICS = 6


class Marker:
    """What has left the window so far; grows by what sinks, never looks back at the rest."""

    def __init__(self) -> None:
        self._steps = 0
        self._said = 0
        self._first = ""
        self._last = ""
        self._tools: Counter[str] = Counter()
        self._targets: dict[str, None] = {}

    def add(self, sunk: Sequence[Unit]) -> None:
        """Take the units that left the window just now, in time order."""
        for unit in sunk:
            self._first = self._first or unit.time
            self._last = unit.time
            if isinstance(unit, Step):
                self._steps += 1
                self._tools.update(unit.tools)
                self._remember_targets(unit)
            else:
                self._said += 1

    def text(self) -> str:
        """How many, from when to when, what about, and where they are; empty when nothing has sunk."""
        if not self._first:
            return ""
        parts = [
            f"{self._steps} steps and {self._said} messages left this window",
            f"{self._first} to {self._last}",
        ]
        if self._tools:
            parts.append("tools: " + ", ".join(name for name, _ in self._tools.most_common(TOPICS)))
        if self._targets:
            parts.append("about: " + ", ".join(reversed(self._targets)))
        return f"[{'; '.join(parts)}. They are kept whole in the session's log; ask if you need one of them.]"

    def _remember_targets(self, step: Step) -> None:
        """Keep the newest short argument values: paths, patterns, commands."""
        for call in step.calls:
            for value in (call.arguments or {}).values():
                if isinstance(value, str) and 2 < len(value) <= 60 and "\n" not in value:
                    self._targets.pop(value, None)
                    self._targets[value] = None
        while len(self._targets) > TOPICS:
            del self._targets[next(iter(self._targets))]
