"""The memory as a person looks at it: the units of a session, and why the window was what it was."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from limnos.kernel.events import ContextChanged, MemoryRecalled, StepsRecalled
from limnos.memory.contents import unpacked
from limnos.memory.texts import Cleaning, preview, text_of_unit
from limnos.store.audit import read_history
from limnos.store.sql import Connection

_PREVIEW = 200


class Shown(NamedTuple):
    """One unit in a list. `holder` is window, cold or graph; `accesses` is how often it was found."""

    unit: str
    agent: str
    turn: int
    kind: str
    time: str
    holder: str
    origin: str
    trust: str
    accesses: int
    text: str


def units_of(connection: Connection, session: str, cleaning: Cleaning, limit: int) -> list[Shown]:
    """The newest `limit` units of a session, in order of time."""
    found = connection.execute(
        "SELECT seq, agent, turn, kind, time, holder, origin, trust, accesses, content FROM units"
        " WHERE session = (SELECT number FROM sessions WHERE id = ?) ORDER BY seq DESC LIMIT ?",
        (session, limit),
    )
    shown: list[Shown] = []
    for seq, agent, turn, kind, time, holder, origin, trust, accesses, content in found:
        text, _ = preview(text_of_unit(unpacked(content), cleaning).words, (), _PREVIEW)
        shown.append(Shown(f"#{seq}", agent, turn, kind, time, holder, origin, trust, accesses, text))
    return shown[::-1]


def moves_of(path: Path, turn: int) -> Sequence[ContextChanged | MemoryRecalled | StepsRecalled]:
    """What came into the window and left it in a turn, with the reasons. Raises StorageError."""
    kinds = (ContextChanged, MemoryRecalled, StepsRecalled)
    events = read_history(path).events
    return [event for event in events if isinstance(event, kinds) and event.turn == turn and not event.agent]
