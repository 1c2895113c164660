"""Tracebacks of our own mistakes, kept for a report."""

from datetime import UTC, datetime
from pathlib import Path

from limnos.store.whole import write_whole

KEPT = 20  # files; a program that fails every minute must not fill the disk


def keep(home: Path, text: str) -> Path | None:
    """Write a traceback below `home`, for its owner alone, and drop all but the newest `KEPT`.

    None when it cannot be written.
    """
    folder = home / "logs"
    path = folder / f"error-{datetime.now(UTC):%Y%m%dT%H%M%S%f}.txt"
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
        for old in sorted(folder.glob("error-*.txt"))[:-KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return path if path.exists() else None
    return path
