"""How much of each session lies in which layer."""

from typing import NamedTuple

from limnos.memory.mending import MemoryDatabase
from limnos.store.sql import Connection


class Held(NamedTuple):
    """The units of a session by their holder, and how many of them are not to be trusted."""

    session: str
    window: int
    cold: int
    graph: int
    untrusted: int


def overview(database: MemoryDatabase) -> list[Held]:
    """All sessions with units, the newest first. Raises StorageError."""

    def read(connection: Connection) -> list[Held]:
        found = connection.execute(
            "SELECT sessions.id, sum(holder = 'window'), sum(holder = 'cold'), sum(holder = 'graph'),"
            " sum(trust = 'untrusted') FROM units JOIN sessions ON number = session"
            " GROUP BY sessions.id ORDER BY max(time) DESC"
        )
        return [Held(*row) for row in found]

    return database.read(read)
