"""What the sandbox shows of the file system: mounts in an order in which each can be made.

Folders of the machine stand at their own paths. A deeper mount wins over the one above it; of two for the
same path the stricter one wins.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from limnos.process.beneath import open_place

_SMALL = "4096"


class Kind(IntEnum):
    """From loose to strict."""

    TEMPORARY = 1  # empty, writable, in memory, gone afterwards
    READ = 2
    WRITE = 3  # what is explicitly writable stays so where it is also readable
    FIXED = 4  # read-only, and stricter than WRITE
    BLANK = 5  # an empty folder in place of what is there
    NOTHING = 6  # a file that cannot be read in place of the one that is there


SHOWN = frozenset((Kind.READ, Kind.WRITE, Kind.FIXED))


class Mount(NamedTuple):
    """One mount at `path`, of what is there outside, or at `source`; `size` in bytes for TEMPORARY."""

    path: str
    kind: Kind
    size: int = 0
    source: str = ""


def ordered(mounts: Iterable[Mount]) -> list[Mount]:
    """Outer ones first, one for each path; blank ones last where nothing is inside.

    bwrap reads the list of mounts for each that shows something of the machine, so those come early.
    """
    strictest: dict[str, Mount] = {}
    for mount in mounts:
        known = strictest.get(mount.path)
        if known is None or mount.kind > known.kind:
            strictest[mount.path] = mount
    needed = [mount for mount in strictest.values() if not _repeats(mount, strictest)]
    outer = {parent for mount in needed for parent in _above(mount.path)}

    def place(mount: Mount) -> tuple[bool, int, str]:
        last = mount.kind is Kind.BLANK and mount.path not in outer
        return last, mount.path.count("/"), mount.path

    return sorted(needed, key=place)


def _repeats(mount: Mount, known: Mapping[str, Mount]) -> bool:
    """Whether the mount around it does the same already, or must not be loosened."""
    around = next((known[path].kind for path in _above(mount.path) if path in known), None)
    if around is Kind.FIXED:
        return mount.kind in (Kind.READ, Kind.WRITE, Kind.FIXED)
    return mount.kind is around is Kind.READ and not mount.source


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or inside it; both absolute and without links."""
    return path == folder or path.startswith(folder + "/") or folder == "/"


def covered(path: str, mounts: Iterable[Mount]) -> bool:
    """Whether something of the machine is visible at `path`."""
    return any(mount.kind in SHOWN and below(path, mount.path) for mount in mounts)


def pinned(path: str, workspace: str) -> list[Mount]:
    """The folders between `workspace` and `path` as mounts of their own.

    A mount point cannot be renamed or removed, so `path` cannot be put aside by moving a folder above it.
    """
    return [Mount(folder, Kind.WRITE) for folder in _above(path) if folder.startswith(workspace + "/")]


class Arguments:
    """Arguments of bwrap for mounts, and the descriptors they name."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.descriptors: list[int] = []
        self._held: list[int] = []

    def add(self, *words: str) -> None:
        """More arguments as they are."""
        self.words += words

    def temporary(self, path: str, size: int, mode: str = "0755") -> None:
        """An empty folder in memory."""
        self.add("--perms", mode, "--size", str(size), "--tmpfs", path)

    def bind(self, mount: Mount) -> None:
        """A folder or file of the machine, held by a descriptor: what is mounted is what was looked at."""
        descriptor = open_place(mount.source or mount.path)
        self.descriptors.append(descriptor)
        option = "--bind-fd" if mount.kind is Kind.WRITE else "--ro-bind-fd"
        self.add(option, str(descriptor), mount.path)

    def text(self, path: str, data: bytes) -> None:
        """A small file with `data`."""
        self.add("--perms", "0444", "--file", str(self.pass_on(data)), path)

    def pass_on(self, data: bytes) -> int:
        """A descriptor from which `data` can be read."""
        descriptor = os.memfd_create("limnos", os.MFD_CLOEXEC)
        self.descriptors.append(descriptor)
        with open(descriptor, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor

    def lifeline(self) -> int:
        """A descriptor that comes to its end when this process does; the other end is held until `close`."""
        read, write = os.pipe()
        self.descriptors.append(read)
        self._held.append(write)
        return read

    def mount(self, mount: Mount) -> None:
        """Whatever `mount` is."""
        match mount.kind:
            case Kind.TEMPORARY:
                self.temporary(mount.path, mount.size, "1777" if mount.path == "/tmp" else "0755")
            case Kind.BLANK:
                self.add("--perms", "0555", "--size", _SMALL, "--tmpfs", mount.path)
            case Kind.NOTHING:
                self.add("--ro-bind", "/dev/null", mount.path)
            case Kind.READ | Kind.WRITE | Kind.FIXED:
                self.bind(mount)

    def close(self) -> None:
        """Give the descriptors back."""
        for descriptors in (self.descriptors, self._held):
            while descriptors:
                os.close(descriptors.pop())
