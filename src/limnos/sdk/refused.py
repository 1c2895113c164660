"""Folders that the door never opens, limnos's own state: known by their names and by what they are."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from limnos.kernel.protected import name_key

Identity: TypeAlias = tuple[int, int]
_MOST_NAMES = 20_000
_LINKS_KEPT_S = 1.0


def identity(info: os.stat_result) -> Identity:
    """Device and inode: what a file or folder is, whatever it is called."""
    return info.st_dev, info.st_ino


class Refused:
    """Refused `paths`, seen from `root`. Names alone are not enough: mounts and disks that ignore case."""

    def __init__(self, root: str, paths: Sequence[Path]) -> None:
        self._paths = [os.path.realpath(path) for path in paths]
        self._absent = list(self._paths)
        self._known: frozenset[Identity] = frozenset()
        self._below = [
            (path, names) for path in self._paths if (names := _names_below(root, path)) is not None
        ]
        self.may_be_below = bool(self._below)
        self._linked: frozenset[Identity] = frozenset()
        self._linked_until = 0.0
        self.everything = self._holds(Path(root))

    def by_name(self, names: Sequence[str]) -> bool:
        """Whether resolved `names`, relative to the root, lie in one of them, there or not."""
        return any(self._named(names, wanted, path) for path, wanted in self._below)

    def identities(self) -> frozenset[Identity]:
        """What those are that exist. One that is replaced later is still refused by its name."""
        for path in tuple(self._absent):
            if (info := _stat(path)) is not None:
                self._known |= {identity(info)}
                self._absent.remove(path)
        return self._known

    def has_link_of(self, info: os.stat_result) -> bool:
        """Whether a file with several names has one of them in here. Looks anew once a second at most."""
        if info.st_nlink < 2 or info.st_dev not in {device for device, _ in self.identities()}:
            return False
        now = time.monotonic()
        if now >= self._linked_until:
            self._linked = frozenset(self._several_names())
            self._linked_until = now + _LINKS_KEPT_S
        return identity(info) in self._linked

    def _named(self, names: Sequence[str], wanted: Sequence[str], path: str) -> bool:
        if len(names) < len(wanted):
            return False
        if tuple(names[: len(wanted)]) == wanted:
            return True
        for name, key in zip(names, wanted, strict=False):
            if name != key and name_key(name) != name_key(key):
                return False
        return _stat(path) is None  # when it is there, its identity says whether this is it

    def _holds(self, root: Path) -> bool:
        identities = self.identities()
        above = [info for one in (root, *root.parents) if (info := _stat(str(one))) is not None]
        return any(_names_below(path, str(root)) is not None for path in self._paths) or any(
            identity(info) in identities for info in above
        )

    def _several_names(self) -> Iterator[Identity]:
        looked = 0
        for path in self._paths:
            for folder, _, names in os.walk(path):
                for name in names:
                    looked += 1
                    info = _stat(os.path.join(folder, name))
                    if info is not None and stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
                        yield identity(info)
                if looked > _MOST_NAMES:
                    return


def _names_below(root: str, path: str) -> tuple[str, ...] | None:
    """The names from `root` down to `path`; None when it does not lie there."""
    root_parts, parts = Path(root).parts, Path(path).parts
    return parts[len(root_parts) :] if parts[: len(root_parts)] == root_parts else None


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None
