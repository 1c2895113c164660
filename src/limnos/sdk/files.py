"""The door to a person's files, first version: everything beneath one folder, whole writes, no special files.

Names that a link leads out of the folder, and limnos's own state, are refused.
"""

import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

from limnos import lazy
from limnos.kernel.messages import ErrorReason
from limnos.kernel.tools import ToolFailure
from limnos.sdk.durable import sync_folder
from limnos.sdk.regular import open_regular

MAX_READ = 20_000_000
MAX_ENTRIES = 10_000
NEAR, LIKENESS = 3, 0.5
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv", ".hg", ".svn"})


class Entry(NamedTuple):
    """One name in a folder; `size` in bytes, 0 for folders. `kind` is file, folder, link or special."""

    name: str
    kind: str
    size: int


class Files:
    """Files beneath `root`. Paths may be relative to it or absolute; results name them relative to it."""

    def __init__(self, root: Path, refused: tuple[Path, ...] = ()) -> None:
        self._root = root.resolve()
        self._refused = tuple(path.resolve() for path in refused)

    def name(self, path: str) -> str:
        """How `path` is written in answers and rules: relative to the root, links resolved."""
        return os.path.relpath(self._resolve(path), self._root)

    def pattern(self, pattern: str) -> str:
        """A pattern of names as those of `walk` are written: without `./` and without the root before it."""
        if os.path.isabs(pattern):
            root, resolved = f"{self._root}/", os.path.realpath(pattern)
            return resolved.removeprefix(root) if resolved.startswith(root) else pattern
        return re.sub(r"^(?:\./+)+", "", pattern)

    def read(self, path: str) -> bytes:
        """The content of a regular file of at most 20 MB. Raises ToolFailure."""
        target = self._resolve(path)
        try:
            self._check_regular(target.lstat(), path)
            with open_regular(target, os.O_NOFOLLOW) as file:
                data = cast("bytes | None", file.read(MAX_READ + 1))
        except OSError as error:
            raise self._failure(path, error) from None
        if data is None:  # a file of the kernel that, read without waiting, has nothing to give now
            raise ToolFailure("failed", f"{path} gives nothing to read now", "it is no plain file; leave it")
        if len(data) > MAX_READ:  # it grew meanwhile, or its size was not known
            raise _too_large(path, f"more than {MAX_READ} bytes")
        return data

    def write(self, path: str, data: bytes) -> bool:
        """Replace or create a file whole, with its folders; True when it is new. Raises ToolFailure."""
        target = self._resolve(path)
        draft = target.with_name(f".limnos-{secrets.token_hex(6)}.draft")
        try:
            existing = _stat(target)
            if existing is not None:
                self._check_regular(existing, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                _write_new(draft, data, existing)
                draft.replace(target)
                sync_folder(target.parent)
            except BaseException:
                with suppress(OSError):
                    draft.unlink()
                raise
        except OSError as error:
            raise self._failure(path, error) from None
        return existing is None

    def list(self, path: str) -> list[Entry]:
        """The names in a folder, at most 10,000, folders first, then by name; of a file its own.

        Raises ToolFailure.
        """
        target = self._resolve(path)
        try:
            if target.is_file():
                return [Entry(target.name, "file", target.stat().st_size)]
            with os.scandir(target) as found:
                first = islice(found, MAX_ENTRIES)
                entries = [entry for one in first if (entry := _entry(one)) is not None]
        except OSError as error:
            raise self._failure(path, error) from None
        return sorted(entries, key=lambda entry: (entry.kind != "folder", entry.name))

    def walk(
        self, path: str, left_out: set[str] | None = None, over: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[str, int]]:
        """Relative names and sizes of files below `path`, at most 10,000.

        Folders of version control and of installed packages (`SKIPPED`) are not entered; the names of those
        that were met are added to `left_out`. One that `path` itself names is walked. Ends when `over`.
        Raises ToolFailure.
        """
        target = self._resolve(path)
        if target.is_file():
            info = _stat(target)
            yield os.path.relpath(target, self._root), info.st_size if info else 0
            return
        if not target.is_dir():
            raise ToolFailure("not_found", f"{path} does not exist", "list the folder above it")
        seen = 0
        for folder, folders, names in os.walk(target):
            if over():
                return
            if left_out is not None:
                left_out |= SKIPPED.intersection(folders)
            folders[:] = sorted(
                name for name in folders if name not in SKIPPED and not self._is_refused(folder, name)
            )
            for name in sorted(names):
                if over():
                    return
                full = os.path.join(folder, name)
                info = _stat(Path(full))
                if info is None or not stat.S_ISREG(info.st_mode):
                    continue
                seen += 1
                if seen > MAX_ENTRIES:
                    return
                yield os.path.relpath(full, self._root), info.st_size

    def near(self, path: str) -> tuple[str, ...]:
        """Up to three names that `path` may have meant: like it in its folder, or the same one elsewhere.

        None for a path that exists. Looks at up to 10,000 names. Raises ToolFailure.
        """
        wanted, target = Path(path.strip()), self._resolve(path)
        if target.exists():
            return ()
        folder = target.parent
        names = [entry.name for entry in self.list(str(folder))] if folder.is_dir() else []
        like = lazy.difflib.get_close_matches(wanted.name, names, NEAR, LIKENESS)
        beside = [os.path.relpath(folder / name, self._root) for name in like]
        elsewhere = (name for name, _ in self.walk(".") if Path(name).name == wanted.name)
        return tuple(dict.fromkeys([*beside, *islice(elsewhere, NEAR)]))[:NEAR]

    def _is_refused(self, folder: str, name: str) -> bool:
        return Path(folder, name) in self._refused

    def _resolve(self, path: str) -> Path:
        if _CONTROL.search(path):
            raise ToolFailure("invalid_arguments", f"{path!r} has control characters", "use a plain name")
        try:
            target = Path(os.path.realpath(self._root / path))
        except (OSError, ValueError) as error:
            raise ToolFailure(
                "invalid_arguments", f"{path!r} is no path: {error}", "give a plain path"
            ) from None
        if not target.is_relative_to(self._root):
            raise ToolFailure(
                "refused", f"{path} is outside of {self._root}", "name a path inside this folder"
            )
        if any(target.is_relative_to(refused) for refused in self._refused):
            raise ToolFailure(
                "refused", f"{path} belongs to limnos itself", "leave it alone; a person can change it"
            )
        return target

    def _check_regular(self, info: os.stat_result, path: str) -> None:
        if stat.S_ISDIR(info.st_mode):
            raise ToolFailure("failed", f"{path} is a folder", "use list_dir, or name a file in it")
        if not stat.S_ISREG(info.st_mode):
            raise ToolFailure(
                "refused", f"{path} is no regular file", "devices, pipes and sockets are not touched"
            )
        if info.st_size > MAX_READ:
            raise _too_large(path, f"{info.st_size} bytes, more than {MAX_READ}")

    def _failure(self, path: str, error: OSError) -> ToolFailure:
        reasons: dict[type[OSError], tuple[ErrorReason, str]] = {
            FileNotFoundError: ("not_found", "list the folder, or find_files"),
            IsADirectoryError: ("failed", "use list_dir, or name a file in it"),
            NotADirectoryError: ("failed", "a part of the path is a file, not a folder"),
            PermissionError: ("unauthorized", "the person has to change who may do this"),
        }
        reason, hint = reasons.get(type(error), ("failed", "try another path"))
        return ToolFailure(reason, f"{path}: {error.strerror or error}", hint)


def _too_large(path: str, size: str) -> ToolFailure:
    return ToolFailure("refused", f"{path} has {size}", "use search_text")


def _stat(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def shown(name: str) -> str:
    """`name` on one line, without control characters and without bytes that are no text, as escapes."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def _write_new(path: Path, data: bytes, existing: os.stat_result | None) -> None:
    """Make a file that was not there; it gets the rights, and where we may the owner, of `existing`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o666 if existing is None else 0o600), "wb") as file:
        file.write(data)
        file.flush()
        if existing is not None:
            with suppress(PermissionError):
                os.fchown(file.fileno(), existing.st_uid, existing.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(existing.st_mode) & 0o777)
        os.fsync(file.fileno())


def _entry(found: "os.DirEntry[str]") -> Entry | None:
    try:
        info = found.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(info.st_mode):
        return Entry(found.name, "folder", 0)
    if stat.S_ISLNK(info.st_mode):
        return Entry(found.name, "link", 0)
    return Entry(found.name, "file" if stat.S_ISREG(info.st_mode) else "special", info.st_size)
