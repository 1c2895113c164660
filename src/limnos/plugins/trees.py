"""The files of a plugin as one hash, and what differs between two."""

import errno
import hashlib
import os
import stat
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from limnos.kernel.errors import LimnosError
from limnos.sdk.regular import open_regular

MOST_FILES = 10_000
MOST_BYTES = 1_000_000_000
_CHUNK = 1 << 20
_MOST_DEPTH = 64


class TreeError(LimnosError):
    """A folder that is no plugin's: it holds a link or a special file, or is too much."""


class Tree(NamedTuple):
    """`digest` is SHA-256 over sorted paths, whether each may be run, and contents.

    `files` has a hash for each path.
    """

    digest: str
    files: Mapping[str, str]


class Changes(NamedTuple):
    """The paths in which two trees differ."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Entry(NamedTuple):
    """A file or folder of a tree: its path in it, with `/`."""

    path: str
    folder: bool
    executable: bool


def entries(folder: Path, left_out: Container[str] = ()) -> Iterator[Entry]:
    """Everything in `folder`, each folder before what is in it, without names that are to be `left_out`.

    Raises TreeError, OSError.
    """
    waiting: list[tuple[str, int]] = [("", 0)]
    count = 0
    while waiting:
        above, depth = waiting.pop()
        with os.scandir(folder / above) as found:
            rows = sorted((one for one in found if one.name not in left_out), key=lambda one: one.name)
        for row in rows:
            count += 1
            path = f"{above}/{row.name}" if above else row.name
            mode = row.stat(follow_symlinks=False).st_mode
            if count > MOST_FILES or depth > _MOST_DEPTH:
                raise _refused(folder, f"it has more than {MOST_FILES:,} files, or folders too deep")
            if stat.S_ISDIR(mode):
                waiting.append((path, depth + 1))
            elif not stat.S_ISREG(mode):
                raise _refused(folder, f"{path!a} is a link or a special file")
            yield Entry(path, stat.S_ISDIR(mode), bool(mode & stat.S_IXUSR))


def tree_of(folder: Path) -> Tree:
    """The hash of all files in `folder`. Raises TreeError, also when it cannot be read."""
    left = MOST_BYTES
    files: dict[str, str] = {}
    if folder.is_symlink():
        raise _refused(folder, "it is a link")
    try:
        for entry in entries(folder):
            if not entry.folder:
                digest, size = _hashed(folder / entry.path, left)
                left -= size
                files[entry.path] = f"{'x' if entry.executable else '-'}{digest}"
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _refused(folder, f"it has more than {MOST_BYTES:,} bytes") from None
        raise _refused(folder, f"it cannot be read: {error.strerror}") from None
    whole = hashlib.sha256()
    for path in sorted(files):
        whole.update(os.fsencode(path) + b"\0" + files[path].encode() + b"\0")
    return Tree(whole.hexdigest(), files)


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> Changes:
    """What was added, changed and removed between the files of two trees."""
    both = before.keys() & now.keys()
    return Changes(
        tuple(sorted(now.keys() - before.keys())),
        tuple(sorted(path for path in both if before[path] != now[path])),
        tuple(sorted(before.keys() - now.keys())),
    )


def _hashed(path: Path, most: int) -> tuple[str, int]:
    hashed, size = hashlib.sha256(), 0
    with open_regular(path, os.O_NOFOLLOW) as file:
        while piece := file.read(_CHUNK):
            size += len(piece)
            if size > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            hashed.update(piece)
    return hashed.hexdigest(), size


def _refused(folder: Path, why: str) -> TreeError:
    return TreeError(f"{folder} was refused: {why}", "get the plugin anew, or one without that")
