"""Tracebacks of our own mistakes, kept for a report, without secrets."""

from datetime import UTC, datetime
from pathlib import Path

from limnos.agent.masking import values_at_hand
from limnos.agent.settings import Environment
from limnos.sdk.scan import Scanner
from limnos.store.whole import write_whole

KEPT = 20  # files; a program that fails every minute must not fill the disk


def clean(environment: Environment, text: str) -> str:
    """`text` without what is a secret of this home, and without what looks like one."""
    return Scanner(values_at_hand(environment)).hide(text)


def keep(home: Path, text: str) -> Path | None:
    """Write a clean traceback below `home`, for its owner alone, and drop all but the newest `KEPT`.

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
