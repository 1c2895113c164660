"""The schema of a database has a number; it only grows, one script at a time, and is never guessed."""

from collections.abc import Sequence
from pathlib import Path

from limnos.kernel.errors import StorageError
from limnos.store.sql import Connection, roll_back


class NewerSchemaError(StorageError):
    """A newer limnos wrote the database: this one would not understand all of it."""


def migrate(connection: Connection, path: Path, migrations: Sequence[str]) -> None:
    """Bring the database to version `len(migrations)`: all missing scripts in one transaction, or none.

    Raises NewerSchemaError, and what SQLite raises.
    """
    if _version(connection, path, len(migrations)) == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # another process may have done it meanwhile
        for number in range(_version(connection, path, len(migrations)), len(migrations)):
            connection.execute(migrations[number])
        connection.execute(f"PRAGMA user_version={len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        roll_back(connection)
        raise


def _version(connection: Connection, path: Path, known: int) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchall()[0][0])
    if version > known:
        raise NewerSchemaError(
            f"{path} was written by a newer limnos: its schema is {version}, this one knows {known}",
            "install that version again, or move the file away; it is made again from the logs",
        )
    return version
