"""What a database of memory holds, without what differs from one filling to the next."""

from typing import Any

from limnos.store.sql import Connection

ASKED = {
    "sessions": "SELECT id, path, last_seq, applied, applied_digest, damaged FROM sessions ORDER BY id",
    "states": "SELECT id, state, saved_seq, saved, saved_digest FROM sessions ORDER BY id",
    "units": "SELECT sessions.id, seq, agent, turn, kind, time, holder, principal, origin, trust, content,"
    " digest FROM units JOIN sessions ON sessions.number = units.session ORDER BY 1, 2",
    "blocks": "SELECT sessions.id, seq, place, blocks.kind, blocks.origin, blocks.trust, blocks.digest,"
    " payload FROM blocks JOIN units ON units.id = blocks.unit"
    " JOIN sessions ON sessions.number = units.session"
    " ORDER BY 1, 2, 3",
    "taken": "SELECT sessions.id, kind, taken.id FROM taken JOIN sessions ON number = session"
    " ORDER BY 1, 2, 3",
    "kept": "SELECT sessions.id, seq, type, record FROM kept JOIN sessions ON number = session ORDER BY 1, 2",
}


def dump(connection: Connection) -> dict[str, list[Any]]:
    """All rows by table, in an order of their own."""
    return {name: connection.execute(ask).fetchall() for name, ask in ASKED.items()}
