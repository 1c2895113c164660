"""Processes of this machine, found by their command line: in a namespace they have other numbers."""

import secrets
import time
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 5.0


def sleep_of_its_own() -> str:
    """A command that runs for years and has a command line like no other."""
    return f"sleep 3{secrets.randbelow(10**8):08}"


def runs(command: str) -> bool:
    """Whether a process with this command line is there now."""
    words = command.replace(" ", "\0").encode() + b"\0"
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if process.read_bytes() == words:
                return True
    return False


def ends(command: str) -> bool:
    """Whether no process of this command line is there, now or in a moment: the system may be ending it."""
    deadline = time.monotonic() + PATIENCE_S
    while runs(command):
        if time.monotonic() > deadline:
            return False
    return True
