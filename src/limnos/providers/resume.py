"""A file that is being fetched: it grows, its hash grows with it, and the fetch can be resumed later."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from limnos.kernel.errors import StorageError

_CHUNK = 1 << 20
_SPARE = 64 << 20


class Partial:
    """The beginning of the file with hash `digest`, as far as `source` gave it.

    Bytes count only up to the last `commit`: an interrupted run goes on from there. What belongs to another
    hash or source is thrown away.
    """

    def __init__(self, folder: Path, source: str, digest: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{source}.part"
        self._record = folder / f"{source}.json"
        self._source = source
        self._pinned = digest
        self._sizes = self._recorded()
        self._file = open(self.path, "r+b" if self.path.exists() else "w+b")  # noqa: SIM115 - closed by exit
        self._hash = hashlib.sha256()
        self._rehash(sum(self._sizes))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def size(self) -> int:
        """Bytes so far, those not yet committed included."""
        return self._file.tell()

    @property
    def commits(self) -> int:
        """How many pieces are complete."""
        return len(self._sizes)

    @property
    def digest(self) -> str:
        """The SHA-256 of all bytes so far, in hex."""
        return self._hash.hexdigest()

    def write(self, data: bytes) -> None:
        """Append. Raises `StorageError` when the disk is full."""
        with disk_full(self.path.parent):
            self._file.write(data)
        self._hash.update(data)

    def commit(self) -> None:
        """What was written until now is one complete piece and survives an interruption."""
        added = self.size - sum(self._sizes)
        if not added:
            return
        with disk_full(self.path.parent):
            self._file.flush()
            os.fsync(self._file.fileno())
            self._sizes.append(added)
            fresh = self._record.with_suffix(".new")
            record = {"source": self._source, "sha256": self._pinned, "sizes": self._sizes}
            fresh.write_text(json.dumps(record), encoding="utf-8")
            os.replace(fresh, self._record)

    def restart(self) -> None:
        """Begin again from nothing."""
        self._sizes.clear()
        self._record.unlink(missing_ok=True)
        self._rehash(0)

    def discard(self) -> None:
        """Remove it from the disk."""
        self._file.close()
        self.path.unlink(missing_ok=True)
        self._record.unlink(missing_ok=True)

    def _recorded(self) -> list[int]:
        try:
            record = json.loads(self._record.read_bytes())
            known = (record["source"], record["sha256"]) == (self._source, self._pinned)
            sizes = [int(size) for size in record["sizes"]]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return sizes if known and all(size > 0 for size in sizes) else []

    def _rehash(self, size: int) -> None:
        """Go to the end of the first `size` bytes; if fewer are there, to the beginning."""
        self._file.seek(0)
        self._hash = hashlib.sha256()
        left = size
        while left > 0 and (data := self._file.read(min(_CHUNK, left))):
            self._hash.update(data)
            left -= len(data)
        if left:
            self._sizes = []
            self._hash = hashlib.sha256()
            self._file.seek(0)
        self._file.truncate()


@contextmanager
def disk_full(folder: Path) -> Generator[None]:
    """Say what a full disk means here."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise StorageError(
            f"the disk of {folder} is full: {_human(shutil.disk_usage(folder).free)} free",
            "free some, then try again: it goes on where it stopped",
        ) from error


def require_space(folder: Path, needed: int) -> None:
    """Raises `StorageError` when fewer than `needed` bytes (and a little more) are free."""
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise StorageError(
            f"{_human(needed + _SPARE)} are needed and {_human(free)} are free on the disk of {folder}",
            "free some, or name another folder in XDG_CACHE_HOME",
        )


@contextmanager
def locked(path: Path) -> Generator[bool]:
    """Hold the lock file `path`; yields False at once when another process holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield True
            return
        yield False


def _human(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
