"""Facts of the machine, read where the system tells them."""

import os
import shutil
from collections.abc import Mapping
from typing import NamedTuple

from limnos import __version__

# What limnos makes use of, each with the names that it may have.
PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "git": ("git",),
    "node": ("node",),
    "bwrap": ("bwrap",),
    "rg": ("rg",),
    "chromium": ("chromium", "chromium-browser", "google-chrome"),
}
_KIB = 1024


class Host(NamedTuple):
    """One look. Sizes are in bytes; what the system does not tell is None, with `available` 0 then."""

    version: str
    system: str
    processors: int
    load: tuple[float, float, float]
    uptime_s: float | None
    memory: int | None
    available: int
    disk: int
    disk_free: int
    missing: tuple[str, ...]


def look(folder: str) -> Host:
    """How the machine does now, and the disk of `folder`. Raises OSError for a folder that is gone."""
    name, disk, memory = os.uname(), shutil.disk_usage(folder), _memory()
    missing = [program for program, names in PROGRAMS.items() if not any(map(shutil.which, names))]
    return Host(
        version=__version__,
        system=f"{name.sysname} {name.release} {name.machine}",
        processors=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        load=os.getloadavg(),
        uptime_s=_uptime(),
        memory=memory.get("MemTotal"),
        available=memory.get("MemAvailable", 0),
        disk=disk.total,
        disk_free=disk.free,
        missing=tuple(missing),
    )


def _uptime() -> float | None:
    try:
        with open("/proc/uptime", encoding="ascii") as file:
            return float(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        return None


def _memory() -> dict[str, int]:
    """Rows of /proc/meminfo in bytes; empty where there is none."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            rows = [line.split() for line in file]
    except OSError:
        return {}
    return {row[0].rstrip(":"): int(row[1]) * _KIB for row in rows if len(row) > 1 and row[1].isdigit()}
