"""What of git's folders the sandbox keeps from being changed.

Committing needs most of `.git`, so it stays writable; what makes git run something, or read its settings from
elsewhere, does not. Submodules' and linked worktrees' folders are read-only: commits there fail inside.
"""

import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from limnos.process.mounts import below
from limnos.process.placeholders import is_ours
from limnos.process.protected import GIT

# An empty folder in place of `commondir` stops git; a file that says "here" changes nothing.
COMMON_FOLDER = b".\n\n"
_FILES = {"config": b"", "config.worktree": b"", "commondir": COMMON_FOLDER}
_FOLDERS = ("hooks", "modules", "worktrees")
_SETTING = re.compile(rb"^\s*(?:\[[^\]\n]*\]\s*)?(hookspath|path)\s*=\s*(.*)$", re.MULTILINE | re.IGNORECASE)
_MOST_FILES = 16  # settings that include settings
_CONFIG_READ = 1 << 20

_MOST_FOLDERS = 1500
_MOST_NESTED = 64
_DEEPEST = 6
_NOT_SEARCHED = {"node_modules", ".venv", "venv", "__pycache__", "target", ".tox", ".cache", ".mypy_cache"}


class Parts(NamedTuple):
    """Of one `.git` folder: `fixed` are there and stay as they are, `absent_*` must not appear.

    `whole` means that the folder can only be protected as a whole, since one of them is a link.
    """

    fixed: tuple[str, ...] = ()
    absent_folders: tuple[str, ...] = ()
    absent_files: tuple[tuple[str, bytes], ...] = ()
    whole: bool = False


def parts(folder: str) -> Parts:
    """The protected parts of the `.git` folder at `folder`; a stand-in counts as absent."""
    fixed: list[str] = []
    folders: list[str] = []
    files: list[tuple[str, bytes]] = []
    for name in (*_FILES, *_FOLDERS):
        path = os.path.join(folder, name)
        kind = kind_of(path)
        if kind is None or is_ours(path):
            if name in _FILES:
                files.append((path, _FILES[name]))
            else:
                folders.append(path)
        elif stat.S_ISLNK(kind):
            return Parts(whole=True)
        else:
            fixed.append(path)
    return Parts(tuple(fixed), tuple(folders), tuple(files))


def kind_of(path: str) -> int | None:
    """The mode of what is at `path` itself, links not followed; None when nothing is there."""
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def named_in_config(workspace: str) -> list[str]:
    """Paths in the workspace from which the repository's settings take hooks or more settings.

    Files that settings include are read too, each once and within bounds.
    """
    own = os.path.join(workspace, GIT)
    waiting = [os.path.join(own, "config"), os.path.join(own, "config.worktree")]
    named: list[str] = []
    for file in waiting:
        for key, value in _SETTING.findall(_read(file)):
            hooks = key.lower() == b"hookspath"
            base = workspace if hooks else os.path.dirname(file)
            path = os.path.normpath(os.path.join(base, os.fsdecode(_value(value))))
            named.append(path)
            if not hooks and path not in waiting and len(waiting) < _MOST_FILES:
                waiting.append(path)
    return [path for path in dict.fromkeys(named) if below(path, workspace) and not below(path, own)]


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(_CONFIG_READ) or b""
    except OSError:
        return b""


def _value(text: bytes) -> bytes:
    """A value as Git reads it: quotes are taken away, a comment outside of them ends it."""
    out, quoted = bytearray(), False
    for one in text.strip():
        if one == ord('"'):
            quoted = not quoted
        elif one in b";#" and not quoted:
            break
        else:
            out.append(one)
    return bytes(out).strip()


def nested(workspace: str) -> list[str]:
    """The `.git` files and folders of folders below `workspace`, the nearest first, within bounds.

    At most 1,500 folders are looked into, 6 levels deep, and 64 are found; folders that hold what tools
    install are left out.
    """
    found: list[str] = []
    level, seen = [workspace], 0
    for depth in range(_DEEPEST):
        following: list[str] = []
        for folder in level:
            seen += 1
            if seen > _MOST_FOLDERS or len(found) >= _MOST_NESTED:
                return found
            for entry in _entries(folder):
                if entry.name == GIT and depth:
                    found.append(entry.path)
                elif entry.name not in (GIT, *_NOT_SEARCHED) and entry.is_dir(follow_symlinks=False):
                    following.append(entry.path)
        level = following
    return found


def _entries(folder: str) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:  # gone meanwhile, or not ours to read
        return
