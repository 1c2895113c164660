"""Whether the memory is what the logs say: each fault with what mends it."""

import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limnos.kernel.conversation import Conversation
from limnos.kernel.errors import StorageError
from limnos.memory import rows
from limnos.memory.contents import packed, unpacked
from limnos.memory.following import file_state, load, pieces
from limnos.memory.mending import MemoryDatabase, complaints
from limnos.memory.projection import Projection
from limnos.memory.rows import digest_of
from limnos.memory.states import seqs_of
from limnos.store.audit import events_of, mark_at
from limnos.store.blobs import BlobStore
from limnos.store.records import read_records
from limnos.store.sql import Connection

REBUILD = "limnos memory rebuild"
MOST = 200  # findings of one kind


class Finding(NamedTuple):
    """Something that is wrong: `where` names a session, a unit or a file, `fix` what mends it."""

    where: str
    what: str
    fix: str


class Row(NamedTuple):
    """What a unit's row is compared by."""

    digest: str
    holder: str
    agent: str
    origin: str
    trust: str


def verify(database: MemoryDatabase, folder: Path, logs: Sequence[tuple[str, str, Path]]) -> list[Finding]:
    """Compare the rows with themselves, with the blobs and with the logs (session, name, path)."""
    said = complaints(database)
    if said:
        return [Finding(str(database.path), f"it is damaged: {one}", REBUILD) for one in said]
    findings = list(database.read(lambda connection: list(_inside(connection))))
    findings += _payloads(database, BlobStore(folder / "blobs"))
    known = {session for session, _, _ in logs}
    for session in database.read(_sessions):
        if session not in known:
            findings.append(Finding(session, "its log is gone, its rows are here", REBUILD))
    for session, _, path in logs:
        findings += _against_log(database, session, path)
    return findings


def _sessions(connection: Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT id FROM sessions ORDER BY id")]


def _inside(connection: Connection) -> Iterator[Finding]:
    """What the rows alone show."""
    ask = (
        "SELECT sessions.id || '#' || units.seq, content, digest FROM units"
        " LEFT JOIN sessions ON sessions.number = units.session"
    )
    for where, content, digest in connection.execute(ask):
        if where is None:
            yield Finding("", "a unit belongs to no session", REBUILD)
            continue
        try:
            whole = digest_of(content) == digest and packed(unpacked(content)) == content
        except ValueError:
            whole = False
        if not whole:
            yield Finding(where, "its content is not what was written", REBUILD)
    for table in ("blocks", "vectors"):
        orphans = f"SELECT DISTINCT unit FROM {table} WHERE unit NOT IN (SELECT id FROM units) LIMIT {MOST}"
        for (unit,) in connection.execute(orphans).fetchall():
            yield Finding(str(unit), f"{table} of a unit that is not there", "limnos memory gc")
    for unit, fingerprint, row in connection.execute("SELECT unit, fingerprint, row FROM vectors"):
        if not is_vector(row):
            yield Finding(
                str(unit), f"its vector of {fingerprint} is damaged", "it is made again at its next use"
            )


def is_vector(row: bytes) -> bool:
    """Whether `row` is float16 numbers, all finite, or empty."""
    return len(row) % 2 == 0 and all(map(math.isfinite, struct.unpack(f"<{len(row) // 2}e", row)))


def _payloads(database: MemoryDatabase, blobs: BlobStore) -> Iterator[Finding]:
    ask = (
        "SELECT DISTINCT payload, sessions.id || '#' || units.seq FROM blocks"
        " JOIN units ON units.id = blocks.unit JOIN sessions ON sessions.number = units.session"
        " WHERE payload <> ''"
    )
    for payload, where in database.read(lambda connection: connection.execute(ask).fetchall()):
        try:
            blobs.get(payload)
        except KeyError:
            yield Finding(where, f"its payload {payload} is missing or damaged", "put it back from a backup")


def _against_log(database: MemoryDatabase, session: str, path: Path) -> Iterator[Finding]:
    """Whether the rows of a session are what its log gives, as far as they go."""
    known = database.read(lambda connection: rows.known(connection, session))
    if known is None:
        yield Finding(session, "nothing of it is here yet", "limnos memory rebuild, or wait a moment")
        return
    try:
        file = file_state(path)
        if known.applied.offset and (
            (file.device, file.inode) != (known.file.device, known.file.inode)
            or mark_at(path, known.applied.offset) != known.applied
        ):
            yield Finding(session, "its log is another one than the rows stand for", REBUILD)
            return
        expected = projected(database, session, path, known.applied.offset)
    except StorageError as error:
        yield Finding(session, error.what, error.fix)
        return
    there = database.read(lambda connection: unit_rows(connection, session))
    for seq in sorted(expected.keys() | there.keys())[:MOST]:
        if expected.get(seq) != there.get(seq):
            what = _difference(expected.get(seq), there.get(seq))
            yield Finding(f"{session}#{seq}", what, REBUILD)
    if known.state is not None:
        window = set(seqs_of(map(str, known.state.get("units", ()))))
        copies = {int(fields[0]) for fields in known.state.get("recalled", ())}
        for seq in sorted(window - copies - there.keys()):
            yield Finding(f"{session}#{seq}", "it stands in the saved window and is not there", REBUILD)


def _difference(expected: Row | None, there: Row | None) -> str:
    if there is None:
        return "it is missing"
    if expected is None:
        return "the log does not have it"
    pairs = zip(Row._fields, expected, there, strict=True)
    return "; ".join(f"its {name} is {b!r} and not {a!r}" for name, a, b in pairs if a != b)


def projected(database: MemoryDatabase, session: str, path: Path, upto: int) -> dict[int, Row]:
    """What the rows of a session are by its log up to the byte `upto`."""
    projection = Projection(Conversation(), lambda ids: load(database, session, ids))
    found: dict[int, Row] = {}
    offset = 0
    for piece in pieces(path, 0):
        part = piece[: upto - offset]
        for event in events_of(read_records(part)):
            projection.apply(event)
        changes = projection.take_changes()
        for draft in changes.units:
            taint = draft.taint
            digest = digest_of(packed(draft.unit))
            found[draft.unit.seq] = Row(digest, "window", draft.agent, taint.origin, taint.trust)
        for seq, holder in changes.holders.items():
            if seq in found:
                found[seq] = found[seq]._replace(holder=holder)
        for seq in changes.dropped:
            found.pop(seq, None)
        offset += len(piece)
        if offset >= upto:
            break
    return found


def unit_rows(connection: Connection, session: str) -> dict[int, Row]:
    """What the database has of a session's units, by their numbers."""
    found = connection.execute(
        "SELECT seq, digest, holder, agent, origin, trust FROM units WHERE kind <> 'fact' AND session ="
        " (SELECT number FROM sessions WHERE id = ?)",
        (session,),
    )
    return {seq: Row(*fields) for seq, *fields in found}
