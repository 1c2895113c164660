"""The real clock and the real ids."""

import asyncio
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: nothing that looks like another
_FORMS = {"session": ("s", 5), "approval": ("", 4), "call": ("c", 8), "block": ("b", 8)}


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and a `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SystemClock:
    """Implements `kernel.seams.Clock` with the machine's time."""

    def now(self) -> str:
        """See `Clock`."""
        return iso(datetime.now(UTC))

    def later(self, seconds: float) -> str:
        """See `Clock`."""
        return iso(datetime.now(UTC) + timedelta(seconds=seconds))

    def monotonic(self) -> float:
        """See `Clock`."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """See `Clock`."""
        await asyncio.sleep(seconds)


class RandomIds:
    """Implements `kernel.seams.Ids`; `taken` says whether a session id is in use already."""

    def __init__(self, taken: Callable[[str], bool] = lambda _: False) -> None:
        self._taken = taken

    def new(self, kind: str) -> str:
        """See `Ids`."""
        prefix, length = _FORMS[kind]
        while True:
            name = prefix + "".join(secrets.choice(_LETTERS) for _ in range(length))
            if kind != "session" or not self._taken(name):
                return name
