"""The audit log: one append-only JSONL file per session. It is the truth; everything else is derived."""

import fcntl
import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from limnos.kernel.errors import SessionInUseError, StorageError
from limnos.kernel.event_records import from_record, to_record
from limnos.kernel.events import Event, UsageRecorded
from limnos.sdk.durable import sync_folder
from limnos.sdk.regular import open_regular
from limnos.store.amounts import amount
from limnos.store.records import Loaded, RecordError, encode_record, read_records
from limnos.store.whole import open_to_append, storage_error

# A lister asks for the lock for an instant to see who works; that must not look like a second writer.
LOCK_TRIES = 20
LOCK_PAUSE_S = 0.01
_MARKED = 4096  # bytes before a mark: a few lines, each with its number, its time and its own sum


class History(NamedTuple):
    """What a file held: its events in order, and whether some of it was damaged.

    `changed` holds the numbers of events that say something else than what was written.
    """

    events: tuple[Event, ...]
    damaged: bool
    last_seq: int
    changed: tuple[int, ...] = ()


class Mark(NamedTuple):
    """A place in a log up to which somebody knows it: `digest` is that of the bytes before `offset`."""

    offset: int
    digest: str


def mark_at(path: Path, offset: int) -> Mark:
    """The mark of the log `path` at `offset`, which is the end of a line. Raises StorageError."""
    before = _read(path, max(0, offset - _MARKED), min(offset, _MARKED))
    return Mark(offset, hashlib.sha256(before).hexdigest())


def read_history(path: Path) -> History:
    """Load a session file for reading; changes nothing on disk. Raises StorageError."""
    return _history(read_records(_read(path)))


def _history(loaded: Loaded) -> History:
    events = events_of(loaded)
    return History(
        events, bool(loaded.damaged or loaded.torn), loaded.last_seq, changed=tuple(loaded.changed)
    )


def events_of(loaded: Loaded) -> tuple[Event, ...]:
    """The events that this version knows; what only looks like one is counted as damaged."""
    events: list[Event] = []
    for record in loaded.records:
        try:
            event = from_record(record)
        except TypeError:
            loaded.damaged += 1
            continue
        if isinstance(event, UsageRecorded) and amount(event.cost) is None:
            loaded.damaged += 1
        elif event is not None:
            events.append(event)
    return tuple(events)


def _read(path: Path, start: int = 0, size: int = -1) -> bytes:
    try:
        with open_regular(path) as file:
            file.seek(start)
            return file.read(size)
    except FileNotFoundError:
        return b""
    except OSError as error:
        what = f"{path} cannot be read: {error.strerror}"
        raise StorageError(what, f"check the disk, and who owns {path}") from None


def line_of(event: Event) -> bytes:
    """The line of a session file that stands for `event`. Raises StorageError for what no file can hold."""
    try:
        return encode_record(to_record(event))
    except RecordError as error:
        raise StorageError(
            f"the event {event.type} cannot be saved: {error}", "ask for less at once, then /continue"
        ) from None


class AuditLog:
    """The writer of one session file. One process holds it at a time; others may read.

    `history` is what the file held when it was opened, from the byte `begins_at` on.
    """

    def __init__(self, path: Path, mark: Mark | None = None) -> None:
        """Open for writing, repair what a crash left at the end, and load what is there.

        With a `mark` that still fits only what comes after it is loaded; with one that does not, all.
        Raises SessionInUseError when another process writes it, StorageError when the disk refuses.
        """
        self.path = path
        try:
            self._descriptor = open_to_append(path)
        except OSError as error:
            raise storage_error(path, error) from None
        try:
            _lock(self._descriptor, path)
            self.begins_at = mark.offset if mark and mark_at(path, mark.offset) == mark else 0
            data = _read(path, self.begins_at)
            loaded = read_records(data)
            self._mend(loaded, self.begins_at + len(data))
            if not data:
                sync_folder(path.parent)
            self._size = os.fstat(self._descriptor).st_size
        except OSError as error:
            os.close(self._descriptor)
            raise storage_error(path, error) from None
        except BaseException:
            os.close(self._descriptor)
            raise
        self.history = _history(loaded)

    def append(self, event: Event, *, durable: bool = False) -> None:
        """Write one line by one write; with `durable` it is on the disk when this returns.

        When that fails nothing of the line stays: the next one stands alone. Raises StorageError.
        """
        line, removed = line_of(event), False
        try:
            written = os.write(self._descriptor, line)
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            if durable:
                os.fdatasync(self._descriptor)
                removed = os.fstat(self._descriptor).st_nlink == 0
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise storage_error(self.path, error) from None
        if removed:
            what = f"nothing is saved from now on: {self.path} was removed while it was written"
            raise StorageError(what, "start a new session, or put the file back and open it again")
        self._size += len(line)

    def close(self) -> None:
        """Flush to the disk and give the lock back; may be called twice."""
        if self._descriptor < 0:
            return
        try:
            os.fdatasync(self._descriptor)
        except OSError as error:
            raise storage_error(self.path, error) from None
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def _mend(self, loaded: Loaded, size: int) -> None:
        """Move a torn last line into a file beside, so that the next record stands alone."""
        if loaded.torn:
            aside = self.path.with_name(self.path.name + ".damaged")
            with open(open_to_append(aside), "ab") as file:
                file.write(loaded.torn + b"\n")
                file.flush()
                os.fsync(file.fileno())
            sync_folder(self.path.parent)
        if loaded.surplus:
            os.ftruncate(self._descriptor, size - loaded.surplus)
            os.fsync(self._descriptor)
        elif not loaded.ends_with_newline:
            os.write(self._descriptor, b"\n")


def _lock(descriptor: int, path: Path) -> None:
    for _ in range(LOCK_TRIES):
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(LOCK_PAUSE_S)
    session = path.stem.rsplit("-", 1)[-1]
    raise SessionInUseError(
        f"session {session} cannot be written: it is open in another process",
        f"limnos replay {session} to read, limnos open {session} --fork to write",
    )
