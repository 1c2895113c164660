"""Unpacking an archive from a stranger: all of it or nothing, beneath one folder, within bounds.

Nothing of it is imported, linked or run.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from limnos.kernel.errors import LimnosError
from limnos.sdk.archive_entries import ArchiveEntry, ArchiveRefusedError, Limits, Manifest, refused, shortened
from limnos.sdk.beneath import FOLDER, open_beneath
from limnos.sdk.durable import sync_folder
from limnos.sdk.tars import tar_entries
from limnos.sdk.zips import opened_zip, zip_entries

__all__ = ["ArchiveRefusedError", "Limits", "unpack"]

_CHUNK = 1 << 20
_OWNER = 0o700
_ZIP_SUFFIXES = (".zip", ".whl", ".hmap")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack(archive: Path, target: Path, limits: Limits | None = None) -> int:
    """Put all of `archive` (zip, wheel, hmap, tar, tar.gz) into `target`; the number of its files.

    `target` is an empty folder, or is not there yet. Files get the owner's part of their mode and no other.
    Refused, with nothing left behind: links and special files, names that lead outside or that two files
    would share (also on disks that ignore case), `.pth` and the like in a wheel, damage, more than `limits`.
    Raises ArchiveRefusedError; LimnosError when the disk or `target` does not take it.
    """
    limits = limits or Limits()
    try:
        _require_regular(archive)
        mode = _mode_of_empty(target)
        with _staging(target) as staging:
            count = _extract(archive, staging, limits)
            staging.chmod(mode)
            staging.rename(target)
        sync_folder(target.parent)
    except OSError as error:
        raise LimnosError(
            f"{archive.name} could not be unpacked into {target}: {error.strerror or error}",
            "nothing was unpacked; see to the disk or name an empty folder, then try again",
        ) from error
    return count


def _extract(archive: Path, staging: Path, limits: Limits) -> int:
    manifest = Manifest(
        archive.name, archive.stat().st_size, limits, wheel=archive.suffix.casefold() == ".whl"
    )
    folder = os.open(staging, FOLDER)
    try:
        with _entries(archive, limits) as entries:
            return sum(_write(folder, manifest.add(entry), entry, archive.name) for entry in entries)
    finally:
        os.close(folder)


@contextmanager
def _entries(archive: Path, limits: Limits) -> Generator[Iterator[ArchiveEntry]]:
    with archive.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    if is_zip or archive.suffix.casefold() in _ZIP_SUFFIXES:
        with opened_zip(archive, limits) as opened:
            yield zip_entries(opened)
    else:
        with tar_entries(archive, limits) as members:
            yield members


def _write(root: int, parts: tuple[str, ...], entry: ArchiveEntry, archive: str) -> int:
    """Write one entry; how many files that made."""
    _make_folders(root, parts if entry.folder else parts[:-1])
    if entry.folder:
        return 0
    folder = open_beneath(root, parts[:-1], FOLDER)
    try:
        descriptor = os.open(parts[-1], _NEW, (entry.mode & _OWNER) | 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    with open(descriptor, "wb") as file, entry.open() as source:
        if _copied(source, file, entry.size) != entry.size:
            raise refused(archive, f"{shortened(entry.name)} has another size than declared")
    return 1


def _copied(source: IO[bytes], file: IO[bytes], size: int) -> int:
    """How many bytes were copied; stops as soon as they are more than `size`."""
    done = 0
    while done <= size and (piece := source.read(_CHUNK)):
        file.write(piece)
        done += len(piece)
    return done


def _make_folders(root: int, parts: tuple[str, ...]) -> None:
    for depth in range(1, len(parts) + 1):
        above = open_beneath(root, parts[: depth - 1], FOLDER)
        try:
            os.mkdir(parts[depth - 1], _OWNER, dir_fd=above)
        except FileExistsError:
            pass  # an earlier entry made it: a file of this name was refused
        finally:
            os.close(above)


@contextmanager
def _staging(target: Path) -> Generator[Path]:
    """A folder beside `target` for its owner alone, gone at the end if it was not renamed."""
    staging = target.with_name(f".limnos-{secrets.token_hex(6)}.unpack")
    staging.mkdir(mode=_OWNER)
    try:
        yield staging
    finally:
        if staging.exists():
            shutil.rmtree(staging)


def _mode_of_empty(target: Path) -> int:
    """The rights that `target` has or is to get. Raises LimnosError when it is no empty folder."""
    try:
        info = target.lstat()
    except FileNotFoundError:
        return _OWNER
    if not stat.S_ISDIR(info.st_mode) or any(target.iterdir()):
        raise LimnosError(f"{target} is no empty folder", "name a folder that is empty or not there yet")
    return stat.S_IMODE(info.st_mode) & 0o777


def _require_regular(archive: Path) -> None:
    if not stat.S_ISREG(archive.stat().st_mode):
        raise LimnosError(f"{archive} is no regular file", "name the archive itself")
