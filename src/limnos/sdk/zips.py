"""Zip archives (wheels and plugin packages too), opened as data only."""

import stat
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from limnos.sdk.archive_entries import ArchiveEntry, Limits, Manifest, refused

_NAME_BYTES = 4096
_END_OF_DIRECTORY = b"PK\x05\x06"
_END_BYTES = 22 + 65535
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, OverflowError)


@contextmanager
def opened_zip(path: Path, limits: Limits) -> Generator[zipfile.ZipFile]:
    """The archive, not checked yet but for its end. Raises OSError; ArchiveRefusedError for damage."""
    try:
        require_few_entries(path, limits.entries)
        with zipfile.ZipFile(path) as archive:
            yield archive
    except _DAMAGE as error:
        raise refused(path.name, f"it is damaged: {error}") from error


def require_few_entries(path: Path, most: int) -> None:
    """Look at the count in the last record, since a table of a million entries is costly to read.

    Raises ArchiveRefusedError, OSError.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_BYTES))
        tail = file.read(_END_BYTES)
    place = tail.rfind(_END_OF_DIRECTORY)
    if place < 0:
        raise refused(path.name, "it is no zip archive")
    count = int.from_bytes(tail[place + 10 : place + 12], "little")
    table = int.from_bytes(tail[place + 12 : place + 16], "little")
    if count > most or table > most * _NAME_BYTES:
        raise refused(path.name, f"it has more than {most} entries")


def check_zip(path: Path, archive: zipfile.ZipFile, limits: Limits, *, wheel: bool) -> None:
    """Raises ArchiveRefusedError that names the first entry, or the limit, that is not as it may be."""
    manifest = Manifest(path.name, path.stat().st_size, limits, wheel=wheel)
    for entry in zip_entries(archive):
        manifest.add(entry)


def zip_entries(archive: zipfile.ZipFile) -> Iterator[ArchiveEntry]:
    """What the table of contents lists, in its order."""
    for info in archive.infolist():
        mode = info.external_attr >> 16
        folder = info.filename.endswith("/") or stat.S_ISDIR(mode)
        # `filename` ends at a NUL; what it said before is in `orig_filename`
        yield ArchiveEntry(
            info.orig_filename,
            folder,
            info.file_size,
            mode & 0o777,
            partial(_member, archive, info),
            _fault(info, mode),
        )


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    return archive.open(info)


def _fault(info: zipfile.ZipInfo, mode: int) -> str:
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a special file"
    if info.header_offset < 0:
        return "lies before the beginning"
    if info.compress_type not in _PACKINGS:
        return "is packed in a way that is not opened"
    return "is encrypted" if info.flag_bits & 0x1 else ""
