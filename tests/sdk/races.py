"""Races as data: a swap of names before the n-th system call of an operation, and who notices."""

import ctypes
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.sdk import beneath
from limnos.sdk.files import Files

CANARY = "not yours"
_CALLS = (
    "open", "stat", "lstat", "readlink", "scandir", "listdir", "mkdir", "rename", "replace", "unlink", "read",
    "pread", "fsync", "fchmod",
)  # fmt: skip
_IN_ACCESS, _IN_MODIFY, _IN_MOVE, _IN_CREATE, _IN_DELETE, _IN_OPEN = 0x1, 0x2, 0xC0, 0x100, 0x200, 0x20
_WATCHED = _IN_ACCESS | _IN_MODIFY | _IN_MOVE | _IN_CREATE | _IN_DELETE | _IN_OPEN
_EVENT = struct.Struct("iIII")


class Outside:
    """A folder that nobody may touch. The system itself tells of every access to it (inotify)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "deep").mkdir(parents=True)
        for name in ("secret.txt", "a.txt", "file.txt", "deep/a.txt", "new.txt"):
            (folder / name).write_text(CANARY)
        libc = ctypes.CDLL(None, use_errno=True)
        self._watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for one in (folder, folder / "deep"):
            assert libc.inotify_add_watch(self._watch, os.fsencode(one), _WATCHED) > 0
        self._texts = self._now()
        self.accesses()  # our own

    def accesses(self) -> list[str]:
        """What happened in it since the last question, and how its files differ."""
        found: list[str] = []
        with suppress(BlockingIOError):
            while data := os.read(self._watch, 1 << 16):
                while data:
                    _, mask, _, length = _EVENT.unpack_from(data)
                    name = data[_EVENT.size : _EVENT.size + length].rstrip(b"\0").decode()
                    found.append(f"{mask:#x} {name}")
                    data = data[_EVENT.size + length :]
        return found

    def changed(self) -> list[str]:
        """Files that are other ones, or have another text, than at the start."""
        now = self._now()
        return sorted(
            name for name in now.keys() | self._texts.keys() if now.get(name) != self._texts.get(name)
        )

    def _now(self) -> dict[str, str]:
        return {str(path): path.read_text() for path in sorted(self.folder.rglob("*")) if path.is_file()}

    def close(self) -> None:
        os.close(self._watch)


class Scene:
    """The folder `work` of a case, new for each n, and `outside` beside it."""

    def __init__(self, folder: Path, case: dict[str, Any]) -> None:
        self.work = folder / "work"
        self.case = case
        for name, what in case["layout"].items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(what, str):
                path.write_text(what)
            else:
                path.symlink_to(what["link"])
        self.outside = Outside(folder / "outside")

    def swap(self) -> None:
        """Make the steps of the case."""
        steps: dict[str, Callable[..., object]] = {
            "remove": lambda path: path.unlink(),
            "move": lambda path, to: path.rename(self.work / to),
            "link": lambda path, to: path.symlink_to(to.replace("{outside}", str(self.outside.folder))),
            "hard": lambda path, to: os.link(path.parent / to, path),
            "pipe": os.mkfifo,
            "folder": lambda path: path.mkdir(),
            "text": lambda path, text: path.write_text(text),
        }
        for step, name, *rest in self.case["swap"]:
            with suppress(FileNotFoundError, FileExistsError):  # the operation was there first
                steps[step](self.work / name, *rest)

    def close(self) -> None:
        """Forget it all."""
        self.outside.close()
        shutil.rmtree(self.work.parent)


@contextmanager
def before_call(number: int, act: Callable[[], None], patch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Run `act` before the system call of this number, from 1; yields a list that counts the calls."""
    counted = [0]
    busy = [False]

    def counting(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            if not busy[0]:
                counted[0] += 1
                if counted[0] == number:
                    busy[0] = True
                    act()
                    busy[0] = False
            return call(*arguments, **named)

        return run

    with patch.context() as patched:
        for name in _CALLS:
            patched.setattr(os, name, counting(getattr(os, name)))
        patched.setattr(beneath, "_system", counting(beneath._system))
        yield counted


def operate(files: Any, case: dict[str, Any]) -> str:
    """Do what the case says and tell in a text all that came back; a failure is told too.

    Only the negative twin may fail in another way than with a reason.
    """
    failures = (ToolFailure, OSError) if isinstance(files, ByPath) else (ToolFailure,)
    path = case["path"]
    before = case.get("before")
    operations: dict[str, Callable[[], object]] = {
        "read": lambda: files.read(path),
        "write": lambda: files.write(path, b"ours"),
        "edit": lambda: files.change(path, lambda data: b"ours" if data else b""),
        "list": lambda: files.list(path),
        "walk": lambda: list(files.walk(path)),
        "remove": lambda: files.remove(path),
        "restore": lambda: files.restore(path, b"ours", instead_of=before.encode() if before else None),
        "near": lambda: files.near(path),
    }
    try:
        return f"done {operations[case['operation']]()!r}"
    except failures as failure:
        return f"{failure} {failure.error if isinstance(failure, ToolFailure) else ''}"


class Door(Files):
    """What is tested; `seen` is the text that its last change replaced."""

    def __init__(self, root: Path) -> None:
        self.seen: bytes | None = None
        super().__init__(root, on_change=self._note)

    def _note(self, name: str, before: bytes | None, after: bytes | None) -> None:
        self.seen = before


class ByPath:
    """The negative twin: the path is resolved and checked first, and used as a path after that."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.seen: bytes | None = None

    def _checked(self, path: str) -> str:
        real = os.path.realpath(self._root / path)
        if not real.startswith(f"{self._root}/") and real != str(self._root):
            raise ToolFailure("refused", "outside", "name another")
        return str(self._root / path)

    def read(self, path: str) -> bytes:
        descriptor = os.open(self._checked(path), os.O_RDONLY | os.O_NONBLOCK)
        try:
            return os.read(descriptor, 1000)
        except OSError:
            return b""
        finally:
            os.close(descriptor)

    def write(self, path: str, data: bytes) -> None:
        target = self._checked(path)
        above = os.path.dirname(target)
        with suppress(FileExistsError):
            os.mkdir(above)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, 0o666)
        os.write(descriptor, data)
        os.close(descriptor)

    def change(self, path: str, new: Callable[[bytes], bytes]) -> None:
        self.seen = self.read(path)
        self.write(path, new(self.seen))

    def restore(self, path: str, data: bytes, instead_of: bytes | None) -> None:
        self.write(path, data)

    def remove(self, path: str) -> None:
        os.unlink(self._checked(path))

    def near(self, path: str) -> list[str]:
        return os.listdir(os.path.dirname(self._checked(path)))

    def list(self, path: str) -> list[str]:
        return os.listdir(self._checked(path))

    def walk(self, path: str) -> Iterator[str]:
        pending = [self._checked(path)]
        while pending:
            folder = pending.pop()
            for name in os.listdir(folder):
                below = os.path.join(folder, name)
                if os.path.isdir(below) and not os.path.islink(below):
                    pending.append(below)
                else:
                    yield below
