"""Bounds how many processes a sandbox of root may have; the limit that holds for others is none for root."""

import itertools
import os
from contextlib import suppress

_NAME = "limnos-"
_JOIN = 'echo 0 > "$0" 2> /dev/null; exec "$@"'
_JOINED_BY = ("tasks", "cgroup.procs")  # of version 1 and 2
_count = itertools.count()
_used: set[str] = set()


def place() -> str:
    """The folder in which groups that count processes can be made; empty when there is none for us."""
    with open("/proc/self/mounts") as mounts:
        places = [line.split()[1:4] for line in mounts]
    for folder, kind, options in places:
        if (kind == "cgroup" and "pids" in options.split(",")) or (kind == "cgroup2" and _counts(folder)):
            with suppress(OSError):  # read-only in most containers
                remove(make(folder, 1))
                return folder
    return ""


def make(parent: str, most: int) -> str:
    """A group of at most `most` processes and threads in `parent`. Raises OSError."""
    _tidy(parent)
    group = os.path.join(parent, f"{_NAME}{os.getpid()}-{next(_count)}")
    os.mkdir(group)
    _used.add(group)
    with open(os.path.join(group, "pids.max"), "w") as limit:
        limit.write(str(most))
    return group


def joined(group: str, argv: tuple[str, ...]) -> tuple[str, ...]:
    """`argv`, run as a member of `group`."""
    # a thread that moves itself waits for nobody; moving a process takes the kernel some 10 ms
    file = next(name for name in _JOINED_BY if os.path.exists(os.path.join(group, name)))
    return ("/bin/sh", "-c", _JOIN, os.path.join(group, file), *argv)


def remove(group: str) -> None:
    """Remove `group`; one whose processes are still ending goes when the next one is made."""
    _used.discard(group)
    with suppress(OSError):
        os.rmdir(group)


def _counts(folder: str) -> bool:
    with suppress(OSError), open(os.path.join(folder, "cgroup.subtree_control")) as file:
        return "pids" in file.read().split()
    return False


def _tidy(parent: str) -> None:
    with os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_NAME):
                _remove_ended(entry.path, entry.name.removeprefix(_NAME).split("-")[0])


def _remove_ended(group: str, maker: str) -> None:
    # one without members that a running limnos made may be about to get its first
    ours = maker == str(os.getpid()) and group not in _used
    if ours or not os.path.exists(f"/proc/{maker}"):
        remove(group)
