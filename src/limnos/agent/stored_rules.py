"""The rules of a session as its record has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from limnos.kernel.events import ApprovalAnswered, ApprovalAsked, Event
from limnos.kernel.seams import Rule


def rule_of(record: Mapping[str, Any] | None) -> Rule | None:
    """The rule that a record stands for; None for one that lacks a part."""
    if record is None or not {"effect", "tool", "match"} <= set(record):
        return None
    return Rule(**{name: str(record[name]) for name in Rule._fields if name in record})


def stored_rules(events: Sequence[Event], cwd: str) -> list[Rule]:
    """The rules that a person's *always* stored in this session while it worked in `cwd`.

    A rule names files relative to the folder: in another one it would mean files nobody was asked about.
    """
    asked = {event.approval: event.cwd for event in events if isinstance(event, ApprovalAsked)}
    rules = (
        rule_of(event.rule)
        for event in events
        if isinstance(event, ApprovalAnswered)
        and event.answer == "always"
        and asked.get(event.approval) == cwd
    )
    return [rule for rule in rules if rule is not None and rule.scope == "session"]
