"""Payloads and vectors that nothing names any more, removed."""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from limnos.memory.mending import MemoryDatabase
from limnos.sdk.regular import open_regular
from limnos.store.sql import Connection
from limnos.store.whole import storage_error

YOUNG_SECONDS = 3600.0  # a payload is written before the event that names it
_BLOB = re.compile(rb"b[0-9a-f]{32}")
_NAME = re.compile(r"b[0-9a-f]{32}")
_READ = 1 << 20
_OVERLAP = 40


class Swept(NamedTuple):
    """How much was removed: payloads, their bytes, and rows that belonged to nothing."""

    payloads: int
    bytes: int
    rows: int


def sweep(database: MemoryDatabase, folder: Path, now: str, fingerprint: str) -> Swept:
    """Remove what nothing names: rows without a unit, vectors of another embedder, payloads.

    A payload stays while any file of the persona, a log above all, has its name in it, and for an hour in any
    case. `fingerprint` is that of the embedder in use, empty to keep all vectors. Raises StorageError.
    """
    count = database.write(lambda connection: _orphans(connection, fingerprint))
    old = dict(_old_payloads(folder / "blobs", datetime.fromisoformat(now).timestamp() - YOUNG_SECONDS))
    removed = freed = 0
    for name in old.keys() - _named(folder) if old else ():
        path = old[name]
        with suppress(FileNotFoundError):
            size = path.stat().st_size
            path.unlink()
            removed, freed = removed + 1, freed + size
    return Swept(removed, freed, count)


def _orphans(connection: Connection, fingerprint: str) -> int:
    count = 0
    for table in ("blocks", "vectors"):
        orphans = f"DELETE FROM {table} WHERE unit NOT IN (SELECT id FROM units) RETURNING 1"
        count += len(connection.execute(orphans).fetchall())
    if fingerprint:
        other = "DELETE FROM vectors WHERE fingerprint <> ? RETURNING 1"
        count += len(connection.execute(other, (fingerprint,)).fetchall())
    return count


def _old_payloads(blobs: Path, before: float) -> Iterator[tuple[str, Path]]:
    for path in blobs.glob("*/b*"):
        with suppress(FileNotFoundError):
            if _NAME.fullmatch(path.name) and path.stat().st_mtime < before:
                yield path.name, path


def _named(folder: Path) -> set[str]:
    """The names of payloads in all files of the persona but the payloads and its databases."""
    found: set[str] = set()
    for path in folder.rglob("*"):
        if (folder / "blobs") in path.parents or ".db" in path.name or not path.is_file():
            continue
        try:
            for data in _chunks(path):
                found.update(name.decode() for name in _BLOB.findall(data))
        except OSError as error:
            raise storage_error(path, error) from None  # what cannot be read may name any
    return found


def _chunks(path: Path) -> Iterator[bytes]:
    with open_regular(path) as file:
        rest = b""
        while data := file.read(_READ):
            yield rest + data
            rest = data[-_OVERLAP:]
