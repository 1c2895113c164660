"""What a sandbox allows, as the approval of a command names it."""

import hashlib
import json
from typing import NamedTuple

from limnos.process.protected import IN_HOME, IN_WORKSPACE, SECRET_IN_HOME

_FORM = 1  # of what the digest covers; goes up when the sandbox comes to allow more or less


class Profile(NamedTuple):
    """Paths are absolute. `workspace` may be written, `readable` and `writable` are for what lies elsewhere.

    `hidden` is not seen wherever it lies, also in the workspace, unless a folder inside of it is named here.
    `network` gives the network of the machine, its loopback too; without it there is an own loopback only.
    `protect` keeps the names of `protected` from being made or changed.
    """

    workspace: str
    hidden: tuple[str, ...]
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    network: bool = False
    protect: bool = True

    @property
    def name(self) -> str:
        """For the log."""
        return "bwrap+net" if self.network else "bwrap"

    def digest(self) -> str:
        """SHA-256 of everything that decides what is allowed; stable over runs and the order of folders."""
        names = [[name.path, name.when_absent] for name in (*IN_WORKSPACE, *IN_HOME)] if self.protect else []
        said = [_FORM, self.workspace, *map(sorted, (self.hidden, self.readable, self.writable))]
        text = json.dumps([*said, self.network, self.protect, names, SECRET_IN_HOME], ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


class NoSandbox(NamedTuple):
    """Why there is no sandbox on this machine, and what a person can do about it."""

    why: str
    fix: str
