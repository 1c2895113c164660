"""What has left the window of a session, by id and by time."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from limnos.memory.contents import unpacked
from limnos.memory.mending import MemoryDatabase
from limnos.memory.states import seqs_of
from limnos.memory.texts import Cleaning, text_of_unit
from limnos.store.sql import Connection

LINE_CHARS = 200
_SUNK = (
    "FROM units WHERE holder <> 'window' AND session = (SELECT number FROM sessions WHERE id = ?)"
    " AND agent = ?"
)


class Sunk(NamedTuple):
    """A unit that has sunk, with the beginning of its text."""

    unit: str
    time: str
    kind: str
    text: str


def sunk_ids(database: MemoryDatabase, session: str, agent: str, ids: Sequence[str]) -> Collection[str]:
    """Those of `ids` that have left the window of `agent` in `session`. Raises StorageError."""
    seqs = seqs_of(ids)

    def read(connection: Connection) -> set[str]:
        marks = ", ".join("?" * len(seqs))
        ask = f"SELECT seq {_SUNK} AND seq IN ({marks})"
        return {f"#{seq}" for (seq,) in connection.execute(ask, (session, agent, *seqs))}

    return database.read(read) if seqs else ()


def newest_sunk(
    database: MemoryDatabase, session: str, agent: str, limit: int, cleaning: Cleaning
) -> list[Sunk]:
    """The newest units that have sunk, newest first. Raises StorageError."""

    def read(connection: Connection) -> list[Sunk]:
        ask = f"SELECT seq, time, kind, content {_SUNK} ORDER BY seq DESC LIMIT ?"
        rows = connection.execute(ask, (session, agent, limit))
        return [
            Sunk(f"#{seq}", time, kind, text_of_unit(unpacked(content), cleaning).words[:LINE_CHARS])
            for seq, time, kind, content in rows
        ]

    return database.read(read)
