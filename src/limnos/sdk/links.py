"""Where a path leads below an open folder: links are followed by our own steps, never out of the folder."""

import errno
import os
import stat
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeAlias

from limnos.sdk.beneath import FOLDER
from limnos.sdk.refused import Identity, identity

MAX_LINKS = 40  # as Linux has it
Inside: TypeAlias = Callable[[str], list[str] | None]


class LinkWalk:
    """One walk from `root`, an open folder. `inside` gives the parts of an absolute path below it, or None.

    The outcome is only names, without links as far as they exist; whoever opens them opens no link, so that
    a name that was swapped since is noticed there.
    """

    def __init__(self, root: int, inside: Inside) -> None:
        self._root = root
        self._inside = inside
        self._folders: list[int] = []
        self._names: list[str] = []
        self._missing: list[str] = []
        self._at_file = False
        self._links = 0
        self.met: set[Identity] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._back_to_root()

    def run(self, parts: Sequence[str]) -> tuple[str, ...]:
        """The resolved names. Raises OSError: EXDEV for a way out, ELOOP for more than 40 links."""
        pending = list(reversed(parts))
        while pending:
            pending += reversed(self._step(pending.pop()))
        return (*self._names, *self._missing)

    def _step(self, part: str) -> list[str]:
        """Go on by one name; what is left to go when that name was a link."""
        if self._at_file:
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if part == "..":
            self._up()
            return []
        if self._missing:
            self._missing.append(part)
            return []
        here = self._folders[-1] if self._folders else self._root
        try:
            info = os.stat(part, dir_fd=here, follow_symlinks=False)
        except FileNotFoundError:
            self._missing.append(part)
            return []
        if stat.S_ISLNK(info.st_mode):
            return self._follow(os.readlink(part, dir_fd=here))
        self._enter(part, info, here)
        return []

    def _enter(self, part: str, info: os.stat_result, here: int) -> None:
        if stat.S_ISDIR(info.st_mode):
            self._folders.append(os.open(part, FOLDER, dir_fd=here))
            self.met.add(identity(info))
        else:
            self._at_file = True
        self._names.append(part)

    def _up(self) -> None:
        if self._missing:
            self._missing.pop()
        elif self._folders:
            os.close(self._folders.pop())
            self._names.pop()
        else:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    def _follow(self, target: str) -> list[str]:
        self._links += 1
        if self._links > MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not target.startswith("/"):
            return split(target)
        parts = self._inside(target)
        if parts is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self._back_to_root()
        return parts

    def _back_to_root(self) -> None:
        while self._folders:
            os.close(self._folders.pop())
        self._names.clear()


def split(path: str) -> list[str]:
    """The names of a relative path, those that say nothing left out."""
    return [part for part in path.split("/") if part not in ("", ".")]
