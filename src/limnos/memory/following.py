"""The rows of one session kept level with its log, by one piece of the file after the other.

A session that runs is followed in the same way as one that was never seen: what is in the database is what
is on the disk. Work is done in the calling thread, which must not be that of the event loop.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limnos.kernel.conversation import Conversation
from limnos.kernel.errors import StorageError
from limnos.kernel.saved import may_be_saved
from limnos.memory import rows, states
from limnos.memory.mending import MemoryDatabase
from limnos.memory.projection import Projection, Stored
from limnos.memory.rows import FileState, Progress, StaleError
from limnos.sdk.regular import open_regular
from limnos.store.audit import events_of, mark_at
from limnos.store.records import MAX_LINE, read_records
from limnos.store.sql import Connection
from limnos.store.whole import storage_error

PIECE = 1 << 20  # bytes of a log that are folded in one transaction
_TURN_END = b'"type":"turn_finished"'


class _Place(NamedTuple):
    """How far the rows are: up to the byte `offset` of the file in this `state`."""

    number: int
    projection: Projection
    offset: int
    damaged: int
    file: FileState


class Follower:
    """Follows the log `path` of `session`, which the database calls `name`. Threads may share it."""

    def __init__(self, database: MemoryDatabase, session: str, path: Path, name: str) -> None:
        self._database = database
        self._session = session
        self._path = path
        self._name = name
        self._lock = threading.Lock()
        self._place: _Place | None = None

    def catch_up(self) -> int:
        """Bring the rows to where the log is; the number of the last event they stand for.

        Raises StorageError; then the next call begins anew from what was committed.
        """
        with self._lock:
            for _ in range(3):
                try:
                    return self._advance()
                except StaleError:
                    self._place = None
                except BaseException:
                    self._place = None
                    raise
            raise StorageError(f"{self._path} is projected by several programs at once", "try again")

    def forget(self) -> None:
        """The rows are gone: the next call looks where they are."""
        with self._lock:
            self._place = None

    def _advance(self) -> int:
        file = file_state(self._path)
        place = self._place = self._place or self._begin(file)
        if place.file != file:
            for piece in pieces(self._path, place.offset):
                place = self._place = self._take(place, piece, file)
            place = self._place = place._replace(file=file)
        return place.projection.conversation.last_seq

    def _take(self, place: _Place, piece: bytes, file: FileState) -> _Place:
        loaded = read_records(piece)
        projection = place.projection
        for event in events_of(loaded):
            projection.apply(event)
        conversation = projection.conversation
        conversation.last_seq = max(conversation.last_seq, loaded.last_seq)
        changes = projection.take_changes()
        end, damaged = place.offset + len(piece), place.damaged + loaded.damaged
        progress = Progress(
            place.offset,
            conversation.last_seq,
            mark_at(self._path, end),
            damaged,
            file if end >= file.size else file._replace(size=0, modified=0),
            states.state_of(conversation) if may_be_saved(conversation) else None,
        )
        self._database.write(lambda connection: rows.write(connection, place.number, changes, progress))
        return place._replace(offset=end, damaged=damaged)

    def _begin(self, file: FileState) -> _Place:
        """Go on where the rows are, if the log is still the one they stand for; else from its start."""
        found = self._database.read(lambda connection: self._restored(connection, file))
        if found is not None:
            return found
        number = self._database.write(lambda connection: rows.begin(connection, self._session, self._name))
        return _Place(number, Projection(Conversation(), self._load), 0, 0, FileState(0, 0, 0, 0))

    def _restored(self, connection: Connection, file: FileState) -> _Place | None:
        known = rows.known(connection, self._session)
        if known is None or known.path != self._name or not _is_same(known, file, self._path):
            return None
        conversation, offset = Conversation(), 0
        if known.state is not None:
            try:
                conversation = states.conversation_of(
                    known.state,
                    lambda ids: rows.stored(connection, self._session, states.seqs_of(ids)),
                    rows.taken(connection, known.number),
                )
            except ValueError:
                return None
            offset = known.saved.offset
        level = known.file if offset == known.applied.offset else FileState(0, 0, 0, 0)
        return _Place(known.number, Projection(conversation, self._load), offset, known.damaged, level)

    def _load(self, ids: Sequence[str]) -> Sequence[Stored]:
        return load(self._database, self._session, ids)


def load(database: MemoryDatabase, session: str, ids: Sequence[str]) -> Sequence[Stored]:
    """Units of a session by their ids. Raises StorageError."""
    seqs = states.seqs_of(ids)
    try:
        return database.read(lambda connection: rows.stored(connection, session, seqs)) if seqs else []
    except ValueError as error:
        raise StorageError(
            f"a unit of session {session} is damaged: {error}", "limnos memory rebuild"
        ) from None


def file_state(path: Path) -> FileState:
    """What tells that a file has changed. Raises StorageError."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise storage_error(path, error) from None
    return FileState(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _is_same(known: rows.Known, file: FileState, path: Path) -> bool:
    """Whether the log is the one whose rows are known, and has only grown since."""
    if known.applied.offset == 0:
        return True
    same_file = (known.file.device, known.file.inode) == (file.device, file.inode)
    return same_file and all(
        mark_at(path, mark.offset) == mark for mark in (known.applied, known.saved) if mark.offset
    )


def pieces(path: Path, offset: int) -> Iterator[bytes]:
    """Whole lines of a log from `offset` on, about 1 MB at once; a turn that ends in one ends a piece.

    Half a line at the end is left for the next time. Raises StorageError.
    """
    try:
        with open_regular(path) as file:
            file.seek(offset)
            rest = b""
            while data := file.read(PIECE):
                rest += data
                end = rest.rfind(b"\n") + 1
                if not end and len(rest) <= 2 * MAX_LINE:
                    continue
                whole, rest = rest[:end], rest[end:]
                turn = whole.find(b"\n", whole.rfind(_TURN_END)) + 1 if _TURN_END in whole else 0
                yield from (part for part in (whole[:turn], whole[turn:]) if part)
    except OSError as error:
        raise storage_error(path, error) from None
