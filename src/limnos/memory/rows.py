"""The rows of sessions and units: what is read and written of them, each in a transaction of the caller."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from limnos.kernel.event_records import to_record
from limnos.kernel.messages import Media, Reasoning, Text, result_text
from limnos.kernel.units import Said
from limnos.memory.contents import as_json, packed, unpacked
from limnos.memory.projection import Changes, Draft, Stored
from limnos.memory.taint import Taint, taint_of
from limnos.store.audit import Mark
from limnos.store.sql import Connection

CALL, CLIENT = "call", "client"
_FIELDS = (
    "number, path, last_seq, applied, applied_digest, state, saved_seq, saved, saved_digest, damaged,"
    " device, inode, size, modified"
)
_IN_ONE = 500  # ids asked for in one statement


class FileState(NamedTuple):
    """What tells that a file has not changed, without reading it. `modified` is in nanoseconds."""

    device: int
    inode: int
    size: int
    modified: int


class Known(NamedTuple):
    """How far the database knows the log of a session. `damaged` counts bad lines up to there.

    `state` is the conversation as `kernel.saved` gives it, at the mark `saved`; None when it never was.
    """

    number: int
    path: str
    last_seq: int
    applied: Mark
    state: dict[str, Any] | None
    saved_seq: int
    saved: Mark
    damaged: int
    file: FileState


class Progress(NamedTuple):
    """A batch of a log, from the byte `base` on; `state` is None when nothing can be saved behind it."""

    base: int
    last_seq: int
    applied: Mark
    damaged: int
    file: FileState
    state: dict[str, Any] | None


def known(connection: Connection, session: str) -> Known | None:
    """What the database knows of a session; None when nothing, or when its row is damaged."""
    row = connection.execute(f"SELECT {_FIELDS} FROM sessions WHERE id = ?", (session,)).fetchone()
    if row is None:
        return None
    number, path, last_seq, applied, digest, state, saved_seq, saved, saved_digest, damaged, *file = row
    try:
        loaded = None if state is None else json.loads(state)
    except ValueError:
        loaded = None
    return Known(
        number,
        path,
        last_seq,
        Mark(applied, digest),
        loaded if isinstance(loaded, dict) else None,
        saved_seq,
        Mark(saved, saved_digest),
        damaged,
        FileState(*file),
    )


def begin(connection: Connection, session: str, path: str) -> int:
    """The number of a session, which is new to the database or becomes so again."""
    row = connection.execute("SELECT number FROM sessions WHERE id = ?", (session,)).fetchone()
    if row is not None:
        forget(connection, row[0])
    insert = (
        "INSERT INTO sessions(id, path, last_seq, applied, applied_digest, device, inode, size, modified)"
        " VALUES(?, ?, 0, 0, '', 0, 0, 0, 0) ON CONFLICT(id) DO UPDATE SET path = excluded.path,"
        " last_seq = 0, applied = 0, applied_digest = '', state = NULL, saved_seq = 0, saved = 0,"
        " saved_digest = '', damaged = 0, device = 0, inode = 0, size = 0, modified = 0"
    )
    connection.execute(insert, (session, path))
    return int(connection.execute("SELECT number FROM sessions WHERE id = ?", (session,)).fetchall()[0][0])


def forget(connection: Connection, number: int) -> None:
    """Remove all that a session's log gave."""
    ids = [row[0] for row in connection.execute("SELECT id FROM units WHERE session = ?", (number,))]
    _remove(connection, ids)
    for table in ("taken", "kept"):
        connection.execute(f"DELETE FROM {table} WHERE session = ?", (number,))


class StaleError(Exception):
    """The rows that a batch builds on are not there any more: the log is to be read again from its start."""


def write(connection: Connection, number: int, changes: Changes, progress: Progress) -> None:
    """Apply one batch: rows, holders, and how far the log is known.

    Does nothing when it is known further. Raises StaleError.
    """
    row = connection.execute("SELECT applied FROM sessions WHERE number = ?", (number,)).fetchone()
    if row is None or row[0] < progress.base:
        raise StaleError
    if row[0] > progress.applied.offset:
        return
    stamp = tick(connection)
    for draft in changes.units:
        _write_unit(connection, number, draft, changes.holders.get(draft.unit.seq, "window"), stamp)
    written = {draft.unit.seq for draft in changes.units}
    moved = [(holder, number, seq) for seq, holder in changes.holders.items() if seq not in written]
    connection.executemany("UPDATE units SET holder = ? WHERE session = ? AND seq = ?", moved)
    drop(connection, number, changes.dropped)
    taken = [(number, CALL, one) for one in changes.calls] + [
        (number, CLIENT, one) for one in changes.clients
    ]
    connection.executemany("INSERT OR IGNORE INTO taken(session, kind, id) VALUES(?, ?, ?)", taken)
    kept = [(number, event.seq, event.type, as_json(to_record(event))) for event in changes.kept]
    connection.executemany("INSERT OR REPLACE INTO kept(session, seq, type, record) VALUES(?, ?, ?, ?)", kept)
    mark, file = progress.applied, progress.file
    connection.execute(
        "UPDATE sessions SET last_seq = ?, applied = ?, applied_digest = ?, damaged = ?,"
        " device = ?, inode = ?, size = ?, modified = ? WHERE number = ?",
        (progress.last_seq, *mark, progress.damaged, *file, number),
    )
    if progress.state is not None:
        connection.execute(
            "UPDATE sessions SET state = ?, saved_seq = ?, saved = ?, saved_digest = ? WHERE number = ?",
            (as_json(progress.state), progress.last_seq, *mark, number),
        )


def tick(connection: Connection) -> int:
    """A number that no change before this transaction has."""
    return int(connection.execute("UPDATE clock SET stamp = stamp + 1 RETURNING stamp").fetchall()[0][0])


def drop(connection: Connection, number: int, seqs: Iterable[int]) -> None:
    """Remove units of a session by their numbers."""
    ids: list[int] = []
    for seq in seqs:
        found = connection.execute("SELECT id FROM units WHERE session = ? AND seq = ?", (number, seq))
        ids += [row[0] for row in found]
    _remove(connection, ids)


def _remove(connection: Connection, ids: Sequence[int]) -> None:
    if not ids:
        return
    stamp = tick(connection)
    connection.executemany("INSERT OR REPLACE INTO gone VALUES(?, ?)", [(one, stamp) for one in ids])
    for table, column in (("units", "id"), ("blocks", "unit"), ("vectors", "unit")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(one,) for one in ids])


def _write_unit(connection: Connection, number: int, draft: Draft, holder: str, stamp: int) -> None:
    unit, taint = draft.unit, draft.taint
    content = packed(unit)
    kind, principal = ("said", unit.principal) if isinstance(unit, Said) else ("step", "")
    values = (
        number, unit.seq, draft.agent, unit.turn, kind, unit.time, holder, principal, taint.origin,
        taint.trust, content, digest_of(content), stamp,
    )  # fmt: skip
    row = connection.execute(
        "INSERT INTO units(session, seq, agent, turn, kind, time, holder, principal, origin, trust, content,"
        " digest, stamp) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT(session, seq) DO UPDATE SET agent = excluded.agent, turn = excluded.turn,"
        " kind = excluded.kind, time = excluded.time, holder = excluded.holder,"
        " principal = excluded.principal, origin = excluded.origin, trust = excluded.trust,"
        " content = excluded.content, digest = excluded.digest,"
        " stamp = CASE WHEN digest = excluded.digest THEN stamp ELSE excluded.stamp END"
        " RETURNING id, stamp",
        values,
    ).fetchall()[0]
    if row[1] == stamp:  # another text than before
        connection.execute("DELETE FROM vectors WHERE unit = ?", (row[0],))
    connection.execute("DELETE FROM blocks WHERE unit = ?", (row[0],))
    blocks = [(row[0], place, *block) for place, block in enumerate(_blocks(draft))]
    connection.executemany("INSERT INTO blocks VALUES(?, ?, ?, ?, ?, ?, ?)", blocks)


def _blocks(draft: Draft) -> Iterable[tuple[str, str, str, str, str]]:
    """Kind, origin, trust, digest of the text, and payload of each block of a unit."""
    unit, reply = draft.unit, draft.reply
    if isinstance(unit, Said):
        yield "text", reply.origin, reply.trust, digest_of(unit.text), ""
        return
    for part in unit.parts:
        match part:
            case Text() | Reasoning():
                kind = "text" if isinstance(part, Text) else "reasoning"
                yield kind, reply.origin, reply.trust, digest_of(part.text), ""
            case Media():
                yield "media", reply.origin, reply.trust, "", part.block
    for call in unit.calls:
        said = as_json([call.name, call.arguments, call.raw])
        yield "call", reply.origin, reply.trust, digest_of(said), ""
    for call, result in unit.results.items():
        taint, payload = draft.results.get(call, Taint()), draft.payloads.get(call, "")
        yield "result", taint.origin, taint.trust, digest_of(result_text(result)), payload


def digest_of(text: str) -> str:
    """What stands for `text` where it is only compared."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def stored(connection: Connection, session: str, seqs: Sequence[int]) -> list[Stored]:
    """The units of these numbers, whole, in this order; one that is not there is left out."""
    found: dict[int, Stored] = {}
    for start in range(0, len(seqs), _IN_ONE):
        some = seqs[start : start + _IN_ONE]
        marks = ", ".join("?" * len(some))
        rows = connection.execute(
            "SELECT seq, content, origin, trust FROM units WHERE session ="
            f" (SELECT number FROM sessions WHERE id = ?) AND seq IN ({marks})",
            (session, *some),
        )
        for seq, content, origin, trust in rows:
            found[seq] = Stored(unpacked(content), taint_of(origin, trust))
    return [found[seq] for seq in seqs if seq in found]


def taken(connection: Connection, number: int) -> tuple[list[str], list[str]]:
    """The ids of calls, and those of clients, that a session has used."""
    ask = "SELECT id FROM taken WHERE session = ? AND kind = ?"
    calls, clients = (connection.execute(ask, (number, kind)).fetchall() for kind in (CALL, CLIENT))
    return [row[0] for row in calls], [row[0] for row in clients]


def kept(connection: Connection, number: int, upto: int) -> list[dict[str, Any]]:
    """The records that opening a session needs, up to a number of its log."""
    rows = connection.execute(
        "SELECT record FROM kept WHERE session = ? AND seq <= ? ORDER BY seq", (number, upto)
    )
    return [json.loads(row[0]) for row in rows]
