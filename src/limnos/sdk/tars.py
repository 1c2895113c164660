"""Tar archives, packed with gzip or not, read once from front to back within bounds."""

import gzip
import tarfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, cast

from limnos.sdk.archive_entries import ArchiveEntry, Limits, refused

_BLOCK = 512
_MOST_AT_ONCE = 4 << 20  # what the reader takes in one piece, such as an extended header
_MOST_PADDING = 1 << 20  # zeros up to a full record, however large tar was told to make it
_PADDING = 4  # blocks of headers that an entry may have, and more
_GZIP = b"\x1f\x8b"
_DAMAGE = (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError, ValueError, OverflowError)


class _Bounded:
    """A file that `tarfile` reads: never more than `most` bytes in all, never much at once."""

    def __init__(self, file: IO[bytes], archive: str, most: int) -> None:
        self._file = file
        self._archive = archive
        self._most = most
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MOST_AT_ONCE:
            raise refused(self._archive, "one of its headers is too large")
        self.last = self._file.read(size)
        self._require_room()
        return self.last

    def seek(self, place: int, whence: int = 0) -> int:
        if place > self._most:
            raise refused(self._archive, f"it unpacks to more than {self._most} bytes")
        return self._file.seek(place, whence)

    def tell(self) -> int:
        return self._file.tell()

    def _require_room(self) -> None:
        if self._file.tell() > self._most:
            raise refused(self._archive, f"it unpacks to more than {self._most} bytes")


@contextmanager
def tar_entries(path: Path, limits: Limits) -> Generator[Iterator[ArchiveEntry]]:
    """The entries in their order; each has to be read before the next one is taken.

    Raises ArchiveRefusedError when the archive is damaged, OSError.
    """
    most = limits.bytes + (limits.entries + 1) * _PADDING * _BLOCK
    try:
        with path.open("rb") as packed:
            is_gzip = packed.read(2) == _GZIP
            packed.seek(0)
            file = cast("IO[bytes]", gzip.GzipFile(fileobj=packed)) if is_gzip else packed
            bounded = _Bounded(file, path.name, most)
            with tarfile.TarFile(fileobj=cast("IO[bytes]", bounded)) as archive:
                yield _entries(archive, bounded, path.name)
    except _DAMAGE as error:
        raise refused(path.name, f"it is damaged: {error}") from error


def _entries(archive: tarfile.TarFile, file: _Bounded, name: str) -> Iterator[ArchiveEntry]:
    while (info := archive.next()) is not None:
        yield ArchiveEntry(
            info.name,
            info.isdir(),
            info.size if info.isreg() else 0,
            info.mode & 0o777,
            partial(_member, archive, info),
            _fault(info),
        )
    if file.last != bytes(_BLOCK):
        raise refused(name, "it is damaged: its end is missing")
    padding = file.read(_MOST_PADDING + 1)  # also shows whether the end of the packing is missing
    if len(padding) > _MOST_PADDING or padding.strip(b"\0"):
        raise refused(name, "something is behind its end")


def _member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    member = archive.extractfile(info)
    if member is None:
        raise tarfile.ReadError(f"{info.name!r} has no content")
    return member


def _fault(info: tarfile.TarInfo) -> str:
    if not (info.isreg() or info.isdir()):
        return "is a link or a special file"
    if info.issparse():
        return "is a sparse file"
    return "has a negative size" if info.size < 0 else ""
