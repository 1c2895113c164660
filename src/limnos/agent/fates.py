"""Why each unit of a window stayed, sank or came back in one turn, as the session's log tells it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from limnos.kernel.errors import UsageError
from limnos.kernel.events import ContextChanged, Event, MemoryRecalled, StepsRecalled, UnitPinned
from limnos.store.audit import read_history

TERMS = ("exact", "lexical", "dense", "neighbour", "session", "speaker", "recency", "scene")


class Fate(NamedTuple):
    """What happened to one unit and why. `terms` are the shares of its `score`; empty where none counted.

    `fate` is kept, sunk, recalled (automatically: a copy), or back (a step that was brought back).
    """

    unit: str
    tokens: int
    fate: str
    why: str
    score: float
    terms: Mapping[str, float]


class Account(NamedTuple):
    """One decision about a window: a prune, a recall, or steps that came back. `text` says it in one line."""

    seq: int
    kind: str
    text: str
    fates: Sequence[Fate]


def accounts_in(path: Path, turn: int | None) -> tuple[int, list[Account]]:
    """As `accounts_of`, of the session whose log is `path`. Raises StorageError too."""
    return accounts_of(read_history(path).events, turn)


def accounts_of(events: Sequence[Event], turn: int | None) -> tuple[int, list[Account]]:
    """The turn and its accounts, in order; without a `turn` the newest that has any.

    Raises UsageError when there is no such turn, or nothing was decided in any.
    """
    moved = [event for event in events if _tells(event)]
    turns = sorted({event.turn for event in events if event.turn})
    if turn is not None and turn not in turns:
        known = f"it has {turns[-1]}" if turns else "it has none"
        raise UsageError(f"the session has no turn {turn}; {known}", "limnos memory explain ID --turn 1")
    chosen = turn if turn is not None else max((event.turn for event in moved), default=0)
    return chosen, [_account(event) for event in moved if event.turn == chosen]


def _tells(event: Event) -> bool:
    if event.agent:
        return False
    if isinstance(event, ContextChanged):
        return bool(event.sunk or event.decisions)
    return isinstance(event, MemoryRecalled | StepsRecalled | UnitPinned)


def _account(event: Event) -> Account:
    match event:
        case ContextChanged():
            text = f"pruned to {event.used} of {event.budget} tokens, {len(event.sunk)} sank"
            return Account(event.seq, "prune", text, [_decided(one) for one in event.decisions])
        case MemoryRecalled():
            text = f"memory put {len(event.hits)} beside the input, {event.tokens} tokens"
            return Account(event.seq, "recall", text, [_hit(one) for one in event.hits])
        case StepsRecalled():
            why = "asked for by the model" if event.call else "asked for by the person"
            fates = [Fate(unit, 0, "back", why, 0.0, {}) for unit in event.units]
            return Account(event.seq, "back", f"{len(event.units)} came back", fates)
        case UnitPinned():
            why = "pinned by the person" if event.pinned else "let go by the person"
            return Account(event.seq, "pin", why, [Fate(event.unit, 0, "kept", why, 0.0, {})])
        case _:
            raise AssertionError(event.type)


def _decided(one: Mapping[str, Any]) -> Fate:
    return Fate(
        str(one.get("unit", "")),
        int(one.get("tokens", 0)),
        str(one.get("fate", "")),
        str(one.get("why", "")),
        float(one.get("score", 0.0)),
        dict(one.get("terms", {})),
    )


def _hit(one: Mapping[str, Any]) -> Fate:
    return _decided({**one, "fate": "recalled"})
