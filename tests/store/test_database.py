"""The database of a persona: whole transactions, bounded waits, clear words when the file is no good."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from limnos.kernel.errors import StorageError
from limnos.store.database import Connection, DamagedDatabaseError, Database
from limnos.store.migrations import NewerSchemaError
from tests.architecture.source import ROOT
from tests.store.disks import full_disk

SCRIPTS = ("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT) STRICT",)
NEXT = (*SCRIPTS, "ALTER TABLE notes ADD COLUMN time TEXT; CREATE INDEX by_time ON notes(time)")


def add(text: str, times: int = 1) -> Callable[[Connection], int]:
    def run(connection: Connection) -> int:
        connection.executemany("INSERT INTO notes(text) VALUES(?)", [(text,)] * times)
        return times

    return run


def texts(connection: Connection) -> list[str]:
    return [text for (text,) in connection.execute("SELECT text FROM notes ORDER BY id")]


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "memory.db"
    one = Database(path, SCRIPTS)
    one.write(add("a\x00b"))
    one.close()

    again = Database(path, SCRIPTS)

    assert again.read(texts) == ["a\x00b"]
    assert path.stat().st_mode & 0o777 == 0o600
    again.close()
    again.close()


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    Database(tmp_path / "memory.db", SCRIPTS).close()

    assert not list(tmp_path.iterdir())


def test_a_function_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.db", SCRIPTS)

    def fail(connection: Connection) -> None:
        add("half")(connection)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        database.write(fail)

    assert database.read(texts) == []
    assert database.write(add("whole")) == 1
    assert database.read(texts) == ["whole"]
    database.close()


def test_a_reader_sees_one_state_and_cannot_write(tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.db", SCRIPTS)
    database.write(add("first"))

    def look(connection: Connection) -> tuple[list[str], list[str]]:
        before = texts(connection)
        database.write(add("second"))
        return before, texts(connection)

    assert database.read(look) == (["first"], ["first"])
    with pytest.raises(StorageError):
        database.read(add("third"))
    assert database.read(texts) == ["first", "second"]
    database.close()


def test_many_threads_and_the_event_loop_write_one_after_the_other(tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.db", SCRIPTS)
    threads = [threading.Thread(target=lambda: database.write(add("t", 5))) for _ in range(8)]

    async def more() -> None:
        await asyncio.gather(*(database.write_later(add("a", 5)) for _ in range(8)))
        assert len(await database.read_later(texts)) >= 40

    for thread in threads:
        thread.start()
    asyncio.run(more())
    for thread in threads:
        thread.join(30)

    assert len(database.read(texts)) == 80
    database.close()


def test_migrations_go_forward_and_keep_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    old = Database(path, SCRIPTS)
    old.write(add("kept"))
    old.close()

    new = Database(path, NEXT)

    assert new.read(lambda c: c.execute("SELECT text, time FROM notes").fetchall()) == [("kept", None)]
    new.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    old = Database(path, SCRIPTS)
    old.write(add("kept"))
    old.close()

    with pytest.raises(StorageError):
        Database(path, (*NEXT, "CREATE TABLE broken(")).read(texts)

    again = Database(path, SCRIPTS)
    assert again.read(texts) == ["kept"]
    again.close()


def test_a_newer_schema_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    new = Database(path, NEXT)
    new.write(add("kept"))
    new.close()
    before = path.read_bytes()

    with pytest.raises(NewerSchemaError, match="newer limnos"):
        Database(path, SCRIPTS).read(texts)

    assert path.read_bytes() == before


@pytest.mark.parametrize("damage", ["head", "text", "pages"])
def test_a_damaged_file_is_said_to_be_damaged(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "memory.db"
    database = Database(path, SCRIPTS)
    database.write(add("word " * 500, 100))
    database.close()
    data = bytearray(path.read_bytes())
    if damage == "text":
        data = bytearray(b"this is no database\n" * 400)
    start = 0 if damage == "head" else 4096
    if damage != "text":
        data[start : start + 8192] = os.urandom(8192) if damage == "head" else b"\xff" * 8192
    path.write_bytes(bytes(data))

    with pytest.raises(DamagedDatabaseError, match="damaged"):
        Database(path, SCRIPTS).read(texts)


def test_a_folder_or_a_pipe_in_its_place_is_an_error_and_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    for name in ("folder", "pipe"):
        with pytest.raises(StorageError, match="no file"):
            Database(tmp_path / name, SCRIPTS).read(texts)


HOLD = """
import apsw, sys
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN IMMEDIATE; INSERT INTO notes(text) VALUES('theirs')")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("done", flush=True)
sys.stdin.readline()
"""


def test_a_database_that_another_process_holds_is_waited_for_and_not_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    database = Database(path, SCRIPTS, busy_seconds=0.2)
    database.write(add("ours"))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"

        with pytest.raises(StorageError, match="busy"):
            database.write(add("late"))
        assert database.read(texts) == ["ours"]
        other.stdin.write(b"\n")
        other.stdin.flush()
        assert other.stdout.readline() == b"done\n"

        assert database.write(add("later")) == 1
        assert database.read(texts) == ["ours", "theirs", "later"]
        other.stdin.close()
    database.close()


def test_a_full_disk_is_said_and_nothing_half_is_left(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        path = disk.folder / "memory.db"
        database = Database(path, SCRIPTS)
        database.write(add("kept"))

        with disk.filled(), pytest.raises(StorageError) as told:
            database.write(add("x" * 4000, 100))

        assert told.value.fix
        assert database.read(texts) == ["kept"]
        assert database.write(add("again")) == 1
        database.close()


def test_a_closed_database_says_so(tmp_path: Path) -> None:
    database = Database(tmp_path / "memory.db", SCRIPTS)
    database.write(add("kept"))
    database.close()

    with pytest.raises(StorageError, match="closed"):
        database.read(texts)
    with pytest.raises(StorageError, match="closed"):
        database.write(add("late"))
