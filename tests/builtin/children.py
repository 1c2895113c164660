"""The plugins of limnos that run now as children of the test, by name."""

import os
from contextlib import suppress
from pathlib import Path

MODULE = "limnos.builtin."


def running(parent: int | None = None) -> dict[str, int]:
    """Names of plugins and their processes; children of this process unless another is named."""
    wanted, found = str(parent or os.getpid()), {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            status = (folder / "stat").read_text().rpartition(")")[2].split()
            names = [word.decode() for word in words if word.startswith(MODULE.encode())]
            if names and status[1] == wanted and status[0] != "Z":
                found[names[0].removeprefix(MODULE)] = int(folder.name)
    return found
