"""The database of a persona's memory, which moves out of the way and begins anew when it is damaged."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from limnos.kernel.errors import StorageError
from limnos.kernel.events import Warned
from limnos.kernel.seams import Clock
from limnos.memory.schema import MIGRATIONS
from limnos.store.database import DamagedDatabaseError, Database
from limnos.store.locking import locked
from limnos.store.sql import Connection

T = TypeVar("T")
_LOCK_SECONDS = 5.0


class MemoryDatabase:
    """`memory.db` in the folder of a persona. Touches no file before its first use.

    All in it comes from the logs, so a damaged file is set aside and filled again from them. `notices` are
    what the person should be told; whoever tells it takes them out.
    """

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.path = folder / "memory.db"
        self._clock = clock
        self._lock = threading.Lock()
        self._database = Database(self.path, MIGRATIONS)
        self.notices: list[Warned] = []

    def read(self, run: Callable[[Connection], T]) -> T:
        """See `store.database.Database`."""
        database = self._database
        try:
            return database.read(run)
        except DamagedDatabaseError as error:
            self._set_aside(database, error)
            return self._database.read(run)

    def write(self, run: Callable[[Connection], T]) -> T:
        """See `store.database.Database`."""
        database = self._database
        try:
            return database.write(run)
        except DamagedDatabaseError as error:
            self._set_aside(database, error)
            return self._database.write(run)

    def hand_over(self, run: Callable[[Connection], object]) -> None:
        """Have something written that nobody waits for, and that may be lost."""
        with suppress(StorageError):
            self._database.submit(run)

    def close(self) -> None:
        """Finish what is being written and let go of the file."""
        self._database.close()

    def begin_anew(self) -> None:
        """Remove all that is there; processes that know it notice."""

        def run(connection: Connection) -> None:
            for table in TABLES:
                connection.execute(f"DELETE FROM {table}")
            connection.execute("DELETE FROM sqlite_sequence")
            connection.execute("UPDATE clock SET epoch = lower(hex(randomblob(8)))")

        self.write(run)

    def take_notices(self) -> Sequence[Warned]:
        """What the person was not told yet."""
        told, self.notices = self.notices, []
        return told

    def _set_aside(self, found_by: Database, error: StorageError) -> None:
        with self._lock, locked(self.path.parent, self.path.name, _LOCK_SECONDS):
            if self._database is not found_by:
                return  # another thread has done it
            found_by.close()
            if not _is_damaged(self.path):
                self._database = Database(self.path, MIGRATIONS)  # another process has done it
                return
            stamp = self._clock.now()[:19].replace("-", "").replace(":", "")
            aside = self.path.with_name(f"{self.path.name}.damaged-{stamp}")
            for end in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    self.path.with_name(self.path.name + end).replace(aside.with_name(aside.name + end))
            self._database = Database(self.path, MIGRATIONS)
        text = f"the memory was damaged and is made again from the logs of the sessions: {error}"
        self.notices.append(Warned(code="memory_damaged", text=text, fix=f"the old file is {aside}"))


TABLES = ("units", "blocks", "gone", "vectors", "words", "words_upto", "taken", "kept", "sessions")


def _is_damaged(path: Path) -> bool:
    database = Database(path, MIGRATIONS)
    try:
        return database.read(_complaints) != ["ok"]
    except DamagedDatabaseError:
        return True
    finally:
        database.close()


def _complaints(connection: Connection) -> list[str]:
    return [str(row[0]) for row in connection.execute("PRAGMA quick_check(20)")]


def complaints(database: MemoryDatabase) -> list[str]:
    """What SQLite has to say against the file; nothing when it is whole. Sets nothing aside."""
    try:
        return [said for said in database.read(_complaints) if said != "ok"]
    except DamagedDatabaseError as error:
        return [error.what]
