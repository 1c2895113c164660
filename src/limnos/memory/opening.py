"""A session opened behind the place that the database has saved, or from its whole log."""

from pathlib import Path
from typing import NamedTuple

from limnos.kernel.conversation import Conversation, fold
from limnos.kernel.errors import StorageError
from limnos.kernel.event_records import from_record
from limnos.kernel.events import Event
from limnos.memory import rows, states
from limnos.memory.following import file_state
from limnos.memory.mending import MemoryDatabase
from limnos.memory.shelf import SessionShelf
from limnos.store.audit import AuditLog, Mark
from limnos.store.sql import Connection


class Resumed(NamedTuple):
    """A session that is open for writing.

    `events` are those that its parts are made from: all of them when `whole`, else the kinds that are kept,
    up to the saved place, and all behind it. `damaged`: some lines of the log could not be read.
    """

    log: AuditLog
    conversation: Conversation
    events: tuple[Event, ...]
    damaged: bool
    whole: bool


class _Saved(NamedTuple):
    conversation: Conversation
    mark: Mark
    events: tuple[Event, ...]
    damaged: bool


def opened(database: MemoryDatabase, session: str, path: Path, shelf: SessionShelf) -> Resumed:
    """Open the log `path` of `session`; its conversation has `shelf`.

    Raises SessionInUseError, and StorageError when the log cannot be opened; a database that fails costs time
    only.
    """
    try:
        saved = database.read(lambda connection: _saved(connection, session, path, shelf))
    except (StorageError, ValueError, TypeError):
        saved = None
    log = AuditLog(path, saved.mark if saved else None)
    if saved is None or log.begins_at != saved.mark.offset:
        history = log.history
        conversation = fold(history.events, history.last_seq, shelf)
        return Resumed(log, conversation, history.events, history.damaged, whole=True)
    conversation = saved.conversation
    for event in log.history.events:
        conversation.apply(event)
    conversation.last_seq = max(conversation.last_seq, log.history.last_seq)
    events = (*saved.events, *log.history.events)
    return Resumed(log, conversation, events, saved.damaged or log.history.damaged, whole=False)


def _saved(connection: Connection, session: str, path: Path, shelf: SessionShelf) -> _Saved | None:
    known = rows.known(connection, session)
    if known is None or known.state is None or not known.saved.offset:
        return None
    file = file_state(path)
    if (known.file.device, known.file.inode) != (file.device, file.inode):
        return None
    conversation = states.conversation_of(
        known.state,
        lambda ids: rows.stored(connection, session, states.seqs_of(ids)),
        rows.taken(connection, known.number),
        shelf,
    )
    records = rows.kept(connection, known.number, known.saved_seq)
    events = [event for record in records if (event := from_record(record)) is not None]
    return _Saved(conversation, known.saved, tuple(events), bool(known.damaged))
