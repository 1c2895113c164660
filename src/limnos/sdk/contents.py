"""What stands in a file at a place: read whole through one descriptor, replaced or taken away in one step.

Whatever happens between our look and our write, nothing that somebody else wrote is lost: the old file is
taken out of the folder first, compared with what was read, and put back when it is not the same.
"""

import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import NamedTuple

from limnos.kernel.tools import ToolFailure
from limnos.sdk.beneath import UnsupportedError, exchange, rename_new
from limnos.sdk.file_failures import MAX_READ, changed, require_regular, too_large
from limnos.sdk.refused import identity
from limnos.sdk.root import Place

DRAFT = (".limnos-", ".draft")
DRAFT_AGE_NS = 60 * 10**9
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_BLOCK = 1 << 16
_MOST_NAMES = 10_000


class Held(NamedTuple):
    """A file that is open, what it is, and all its bytes."""

    descriptor: int
    info: os.stat_result
    data: bytes


def read_open(descriptor: int, path: str) -> tuple[bytes, os.stat_result]:
    """All bytes of the open regular file, at most 20 MB, and what it is. Raises ToolFailure, OSError."""
    info = os.fstat(descriptor)
    require_regular(info.st_mode, info.st_size, path)
    try:
        data = os.read(descriptor, info.st_size + 1)
        if len(data) != info.st_size or not data:
            data = _read_on(descriptor, data)
    except BlockingIOError:  # a file of the kernel that, read without waiting, has nothing to give now
        raise ToolFailure(
            "failed", f"{path} gives nothing to read now", "it is no plain file; leave it"
        ) from None
    if len(data) > MAX_READ:  # it grew meanwhile, or its size was not known
        raise too_large(path, f"more than {MAX_READ} bytes")
    return data, info


@contextmanager
def held(place: Place, path: str) -> Generator[Held | None]:
    """The file at `place`, open until the end, None when there is none.

    Refused when it may not be written: a file with a second name would be changed in a place not shown.
    """
    if place.info is None:
        yield None
        return
    descriptor = place.open_regular(path)
    try:
        data, info = read_open(descriptor, path)
        if info.st_nlink > 1:
            raise ToolFailure(
                "refused",
                f"{path} has {info.st_nlink} names (hard links); the others would change or part from it",
                "write a new file instead, or ask the person to make it a file of its own",
            )
        yield Held(descriptor, info, data)
    finally:
        os.close(descriptor)


def put(place: Place, data: bytes, old: Held | None, path: str) -> None:
    """Make `data` the content of `place` in one step, in place of `old`. It is on the disk when this returns.

    A replaced file gives its rights, without set-user and the like, and its owner. Raises ToolFailure when
    there is something else than `old` by now, and OSError; then all is as it was.
    """
    draft = _draft_name()
    ours = _write_draft(place.folder, draft, data, old.info if old else None)
    try:
        if old is None:
            _put_new(place, draft, path)
        else:
            _swap(place, draft, old, path)
    except BaseException:
        _discard(place.folder, draft, ours)
        raise
    sweep(place.folder, ours.st_ctime_ns - DRAFT_AGE_NS)
    _sync(place.folder)


def take_away(place: Place, old: Held, path: str) -> None:
    """Remove `old` from `place`. Raises ToolFailure when there is something else by now, and OSError."""
    aside = _draft_name()
    rename_new(place.folder, place.last, aside)
    if not _is(place.folder, aside, old):
        _put_back(place, aside, path)
    os.unlink(aside, dir_fd=place.folder)
    _sync(place.folder)


def sweep(folder: int, before_ns: int) -> None:
    """Remove drafts of writers that were killed: regular files of our names, last renamed before then.

    Looks at the first 10,000 names. The time is the disk's own, so nobody can set it.
    """
    with suppress(OSError):
        found = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(found) as entries:
                names = [entry.name for entry in islice(entries, _MOST_NAMES) if is_draft(entry.name)]
            for name in names:
                info = os.stat(name, dir_fd=found, follow_symlinks=False)
                if stat.S_ISREG(info.st_mode) and info.st_ctime_ns < before_ns:
                    os.unlink(name, dir_fd=found)
        finally:
            os.close(found)


def is_draft(name: str) -> bool:
    """Whether a file of this name is one of ours that is not finished."""
    begin, end = DRAFT
    middle = name[len(begin) : -len(end)]
    return name == f"{begin}{middle}{end}" and len(middle) == 12 and set(middle) <= set("0123456789abcdef")


def _read_on(descriptor: int, first: bytes) -> bytes:
    pieces, size = [first], len(first)
    while size <= MAX_READ and (piece := os.read(descriptor, _BLOCK)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _draft_name() -> str:
    return secrets.token_hex(6).join(DRAFT)


def _write_draft(folder: int, name: str, data: bytes, like: os.stat_result | None) -> os.stat_result:
    """Make a file that was not there; it gets the rights, and where we may the owner, of `like`."""
    descriptor = os.open(name, _WRITE, 0o666 if like is None else 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if like is not None:
                with suppress(PermissionError):
                    os.fchown(file.fileno(), like.st_uid, like.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode) & 0o777)
            os.fsync(file.fileno())
            return os.fstat(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def _put_new(place: Place, draft: str, path: str) -> None:
    try:
        rename_new(place.folder, draft, place.last)
    except FileExistsError:
        raise changed(path) from None


def _swap(place: Place, draft: str, old: Held, path: str) -> None:
    try:
        exchange(place.folder, draft, place.last)
    except FileNotFoundError:
        raise changed(path) from None
    except UnsupportedError:
        if not _is(place.folder, place.last, old):
            raise changed(path) from None
        os.rename(draft, place.last, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        return
    if _is(place.folder, draft, old):
        os.unlink(draft, dir_fd=place.folder)
        return
    try:
        exchange(place.folder, draft, place.last)
    except FileNotFoundError:
        rename_new(place.folder, draft, place.last)
    raise changed(path)


def _put_back(place: Place, aside: str, path: str) -> None:
    """Give what was taken out, which is not what was to be removed, its name again."""
    try:
        rename_new(place.folder, aside, place.last)
    except FileExistsError:
        raise ToolFailure(
            "failed", f"{path} was made anew by somebody else; the one before is {aside}", "look at both"
        ) from None
    raise changed(path)


def _is(folder: int, name: str, old: Held) -> bool:
    """Whether `name` is the file that was read, with the bytes that were read."""
    with suppress(FileNotFoundError):
        there = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if identity(there) == identity(old.info) and there.st_nlink == 1:
            return os.pread(old.descriptor, len(old.data) + 1, 0) == old.data
    return False


def _discard(folder: int, draft: str, ours: os.stat_result) -> None:
    with suppress(OSError):
        if identity(os.stat(draft, dir_fd=folder, follow_symlinks=False)) == identity(ours):
            os.unlink(draft, dir_fd=folder)


def _sync(folder: int) -> None:
    with suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
