"""Whether a command of limnos runs this: the agent may not change what it is held to.

In the sandbox there is no home to change; this holds where commands run without one. It is a hurdle, no
boundary: a process that leaves its family is not recognised.
"""

import os
from pathlib import Path

from limnos.agent.settings import COMMAND_MARK
from limnos.kernel.errors import DeniedError

_MOST = 64  # generations
_MARK = f"{COMMAND_MARK}=1".encode()


def refuse_own_commands(what: str, processes: Path = Path("/proc")) -> None:
    """Refuse `what` when this process, or one above it, is a command of limnos. Raises DeniedError."""
    process = os.getpid()
    for _ in range(_MOST):
        if process <= 1:
            return
        if _is_command(processes / str(process)):
            raise DeniedError(f"{what} is for a person, not for a command of limnos", "do it in a terminal")
        process = _parent_of(processes / str(process))


def _is_command(process: Path) -> bool:
    try:
        return _MARK in (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _parent_of(process: Path) -> int:
    try:
        status = (process / "status").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    row = next((row for row in status.split("\n") if row.startswith("PPid:")), "PPid: 0")
    return int(row.split()[1])
