"""What is used of a database connection, with types of our own."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

Row: TypeAlias = tuple[Any, ...]


class Cursor(Protocol):
    """The rows that a statement gives, one after the other."""

    def __iter__(self) -> Iterator[Row]: ...

    def fetchall(self) -> list[Row]:
        """All rows that are left."""
        ...

    def fetchone(self) -> Row | None:
        """The next row; None when there is none."""
        ...


class Connection(Protocol):
    """An open database. Values are bound by position; text may hold NUL but no lone surrogates."""

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> Cursor:
        """Run one or more statements."""
        ...

    def executemany(self, sql: str, values: Iterable[Sequence[Any]], /) -> Cursor:
        """Run a statement once for each row of values."""
        ...

    def set_busy_handler(self, handler: Callable[[int], bool], /) -> None:
        """Who decides, each time that another holds the database, whether to try again."""
        ...

    def total_changes(self) -> int:
        """How many rows this connection has changed."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


def roll_back(connection: Connection) -> None:
    """Undo what the open transaction did, if there is one."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
