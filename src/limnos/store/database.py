"""One SQLite file: a writer thread of its own, readers beside it, numbered migrations, bounded waits.

What is kept here can be made again from the audit logs, so a commit is not synced at once: after a power cut
the newest ones may be gone, but what is there is whole.
"""

import asyncio
import errno
import os
import random
import stat
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from limnos import lazy
from limnos.kernel.errors import StorageError
from limnos.store.migrations import migrate
from limnos.store.sql import Connection, roll_back
from limnos.store.whole import private_folder, storage_error

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    import apsw

T = TypeVar("T")
BUSY_SECONDS = 1.0
WAIT_SECONDS = 60.0
_READERS = 4
_PAUSE_SECONDS = (0.001, 0.02)
_CACHE_KB = 8192


class DamagedDatabaseError(StorageError):
    """The file is no database any more, or parts of it cannot be read."""


class Database:
    """The file `path`, opened at its first use; `migrations` are SQL scripts, the n-th makes version n.

    May be used from any thread. Functions that are handed in get a connection inside a transaction; they must
    not keep it, and must not begin or end one themselves.
    """

    def __init__(self, path: Path, migrations: Sequence[str], *, busy_seconds: float = BUSY_SECONDS) -> None:
        self.path = path
        self._migrations = migrations
        self._busy = busy_seconds
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._readers = threading.BoundedSemaphore(_READERS)
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Connection | None = None
        self._ready = False
        self._closed = False

    def write(self, run: Callable[[Connection], T], *, seconds: float = WAIT_SECONDS) -> T:
        """What `run` returns, once its transaction is committed; nothing of it stays when it raises.

        Raises StorageError: also when the writer has not come to it after `seconds`; then it may still run.
        """
        answer = self.submit(run)
        try:
            return answer.result(seconds)
        except TimeoutError:
            if not answer.done():
                raise self._too_busy() from None
            raise

    async def write_later(self, run: Callable[[Connection], T], *, seconds: float = WAIT_SECONDS) -> T:
        """As `write`, without holding up the event loop."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self.submit(run)), seconds)
        except TimeoutError:
            raise self._too_busy() from None

    def read(self, run: Callable[[Connection], T]) -> T:
        """What `run` returns; it sees one state of the database. Raises StorageError."""
        self._prepare()
        if not self._readers.acquire(timeout=WAIT_SECONDS):
            raise self._too_busy()
        try:
            with self._explained():
                connection = self._reader()
                try:
                    connection.execute("BEGIN")
                    found = run(connection)
                finally:
                    self._put_back(connection)
                return found
        finally:
            self._readers.release()

    async def read_later(self, run: Callable[[Connection], T]) -> T:
        """As `read`, without holding up the event loop."""
        return await asyncio.to_thread(self.read, run)

    def close(self) -> None:
        """Finish what was handed to the writer and let go of the file; may be called twice."""
        with self._lock:
            self._closed, writer = True, self._writer
            self._writer = None
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
        if writer is not None:
            writer.shutdown()
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def submit(self, run: Callable[[Connection], T]) -> "Future[T]":
        """Hand `run` to the writer and go on; see `write`. Raises StorageError when the file is no good."""
        self._prepare()
        with self._lock:
            if self._closed:
                raise self._closed_error()
            if self._writer is None:
                self._writer = lazy.futures.ThreadPoolExecutor(1, f"writer of {self.path.name}")
            return self._writer.submit(self._transact, run)

    def _transact(self, run: Callable[[Connection], T]) -> T:
        with self._explained():
            if self._writing is None:
                self._writing = self._connect()
            connection = self._writing
            connection.execute("BEGIN IMMEDIATE")
            try:
                found = run(connection)
                connection.execute("COMMIT")
            except BaseException:
                roll_back(connection)
                raise
            return found

    def _prepare(self) -> None:
        """Make and migrate the file, once in a process."""
        if self._ready:
            return
        with self._lock:
            if self._closed:
                raise self._closed_error()
            if self._ready:
                return
            self._make()
            with self._explained():
                connection = self._connect()
                try:
                    connection.execute("PRAGMA journal_mode=WAL").fetchall()
                    migrate(connection, self.path, self._migrations)
                finally:
                    connection.close()
            self._ready = True

    def _make(self) -> None:
        """The file is for its owner alone, and what SQLite puts beside it is too."""
        try:
            private_folder(self.path.parent)
            if not self.path.exists():
                flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
                os.close(os.open(self.path, flags, 0o600))
            if not stat.S_ISREG(self.path.stat().st_mode):
                raise StorageError(f"{self.path} is no file", "move it away; it is made again")
        except OSError as error:
            raise storage_error(self.path, error) from None

    def _connect(self) -> Connection:
        opened = lazy.apsw.Connection(str(self.path), lazy.apsw.SQLITE_OPEN_READWRITE)
        connection = cast("Connection", opened)
        connection.set_busy_handler(_patience(self._busy))
        connection.execute(f"PRAGMA synchronous=NORMAL; PRAGMA cache_size=-{_CACHE_KB}").fetchall()
        return connection

    def _reader(self) -> Connection:
        with self._lock:
            if self._closed:
                raise self._closed_error()
            if self._idle:
                return self._idle.pop()
        connection = self._connect()
        connection.execute("PRAGMA query_only=ON").fetchall()
        return connection

    def _put_back(self, connection: Connection) -> None:
        roll_back(connection)
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    @contextmanager
    def _explained(self) -> Generator[None]:
        """What SQLite says, as what it means for a person."""
        try:
            yield
        except lazy.apsw.Error as error:
            raise self._meaning(error) from None

    def _meaning(self, error: "apsw.Error") -> StorageError:
        apsw = lazy.apsw
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError):
            return DamagedDatabaseError(
                f"{self.path} is damaged: {error}", "limnos memory rebuild makes it again from the logs"
            )
        if isinstance(error, apsw.FullError):
            return storage_error(self.path, OSError(errno.ENOSPC, "disk full"))
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return self._too_busy()
        if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError):
            return storage_error(self.path, OSError(errno.EACCES, "it is read-only"))
        if isinstance(error, apsw.IOError | apsw.CantOpenError):
            return StorageError(f"{self.path} failed: {error}", "check the disk, and who owns the file")
        return StorageError(f"{self.path}: {error}", "limnos memory rebuild makes it again from the logs")

    def _too_busy(self) -> StorageError:
        return StorageError(f"{self.path} is busy: another program writes it", "try again in a moment")

    def _closed_error(self) -> StorageError:
        return StorageError(f"{self.path} was closed", "start limnos again")


def _patience(seconds: float) -> Callable[[int], bool]:
    """Wait for another program, at random intervals, so that two that wait do not meet again and again."""
    chance, began = random.Random(), [0.0]

    def wait(tries: int) -> bool:
        if tries == 0:
            began[0] = time.monotonic()
        elif time.monotonic() - began[0] >= seconds:
            return False
        time.sleep(chance.uniform(*_PAUSE_SECONDS))
        return True

    return wait
