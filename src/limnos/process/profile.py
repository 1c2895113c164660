"""What a sandbox allows, as the approval of a command names it."""

import hashlib
import json
from typing import Any, NamedTuple

from limnos.process.protected import IN_HOME, IN_WORKSPACE, SECRET_IN_HOME

_FORM = 2  # of what the digest covers; goes up when the sandbox comes to allow more or less


IN_MEMORY = 2 << 30


class Profile(NamedTuple):
    """Paths are absolute. `workspace` may be written, `readable` and `writable` are for what lies elsewhere.

    `hidden` is not seen wherever it lies, also in the workspace, unless a folder inside of it is named here.
    `network` gives the network of the machine, its loopback too; without it there is an own loopback only.
    `protect` keeps the names of `protected` from being made or changed. `read_only` lets the workspace be
    read only. Each folder in memory, such as /tmp, takes up to `in_memory` bytes.
    """

    workspace: str
    hidden: tuple[str, ...]
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    network: bool = False
    protect: bool = True
    read_only: bool = False
    in_memory: int = IN_MEMORY

    @property
    def name(self) -> str:
        """For the log."""
        return "bwrap+net" if self.network else "bwrap"

    def digest(self) -> str:
        """SHA-256 of everything that decides what is allowed; stable over runs and the order of folders."""
        names = [[name.path, name.when_absent] for name in (*IN_WORKSPACE, *IN_HOME)] if self.protect else []
        said: list[Any] = [_FORM, self.workspace, *map(sorted, (self.hidden, self.readable, self.writable))]
        said += [self.network, self.protect, self.read_only, self.in_memory, names, SECRET_IN_HOME]
        text = json.dumps(said, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


class NoSandbox(NamedTuple):
    """Why there is no sandbox on this machine, and what a person can do about it."""

    why: str
    fix: str
