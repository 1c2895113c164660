"""What a marker says: how much has sunk here, when, what about, and how it comes back."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from limnos.kernel.units import Recalled, Step, Unit

_SEQ = attrgetter("seq")


def marker_text(span: Mapping[str, Any], units: Sequence[Unit], *, recallable: bool) -> str:
    """The text for `span` when `units` stand in the window; empty when all of it is back.

    `span` has the numbers of its `first` and `last` unit, their times `from` and `to`, how many `steps` and
    `said` have sunk, and where there is room `tools`, `topics`, `runaways`, and what stands `inside` of it.
    """
    steps, said = still_sunk(span, units)
    if not steps and not said:
        return ""
    parts = [f"{_many(steps, said)} left this window, #{span['first']} to #{span['last']}"]
    if span.get("brief") != "very":
        parts.append(_times(str(span["from"]), str(span["to"])))
    parts += [f"too large: {one}" for one in span.get("runaways", ())]
    for name in ("tools", "topics"):
        if words := span.get(name):
            label = "about" if name == "topics" else name
            parts.append(f"{label}: {', '.join(words)}")
    if not span.get("brief"):
        parts.append(
            "cold_query finds them, cold_recall with ids brings them back"
            if recallable
            else "kept whole in the session's log"
        )
    return f"[{'; '.join(parts)}]"


def still_sunk(span: Mapping[str, Any], units: Sequence[Unit]) -> tuple[int, int]:
    """How many steps and messages of `span` are not back in the window."""
    back = [unit for unit in within(span, units) if unit.seq not in span.get("inside", ())]
    steps = sum(isinstance(unit, Step) for unit in back)
    return max(int(span["steps"]) - steps, 0), max(int(span["said"]) - (len(back) - steps), 0)


def within(span: Mapping[str, Any], units: Sequence[Unit]) -> list[Unit]:
    """The units that stand between the first and the last of `span`, but for copies out of memory."""
    begin = bisect_left(units, span["first"], key=_SEQ)
    end = bisect_right(units, span["last"], key=_SEQ)
    return [unit for unit in units[max(begin - 1, 0) : end + 1] if _is_in(unit, span)]


def _is_in(unit: Unit, span: Mapping[str, Any]) -> bool:
    return span["first"] <= unit.seq <= span["last"] and not isinstance(unit, Recalled)


def _many(steps: int, said: int) -> str:
    counts = ((steps, "step"), (said, "message"))
    return " and ".join(f"{count} {name}{'s' * (count != 1)}" for count, name in counts if count)


def _times(first: str, last: str) -> str:
    """From when to when, to the minute; the day once when it is the same."""
    begin, end = first[:16].replace("T", " "), last[:16].replace("T", " ")
    if begin == end:
        return f"{begin} UTC"
    return f"{begin} to {end[11:] if begin[:10] == end[:10] else end} UTC"
