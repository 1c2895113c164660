"""What a running call tells of itself, at a pace that listeners can follow."""

import asyncio
from math import isfinite

from limnos.kernel.events import CallProgress
from limnos.kernel.stream import EventStream

PAUSE_S = 0.1
LONGEST = 4_000  # characters: people see the last lines of it


class Progress:
    """One call's reports as events, at most ten a second. Implements `kernel.tools.Report`.

    The first is told at once; what comes faster is gathered, and the newest 4,000 characters of it are told
    with the next one, beside the newest fraction. `close` tells what is left, and from then on nothing is.
    """

    def __init__(self, call: str, stream: EventStream) -> None:
        self._call = call
        self._stream = stream
        self._text = ""
        self._fraction: float | None = None
        self._untold = False
        self._closed = False
        self._pacing: asyncio.Task[None] | None = None

    def __call__(self, text: str, fraction: float | None = None) -> None:
        """Take a report; returns at once."""
        if self._closed:
            return
        self._text, self._untold = (self._text + text)[-LONGEST:], True
        if fraction is not None and isfinite(fraction):
            self._fraction = min(max(fraction, 0.0), 1.0)
        if self._pacing is None:
            self._tell()
            self._pacing = asyncio.create_task(self._pace())

    def close(self) -> None:
        """The call is over."""
        self._closed = True
        if self._pacing is not None:
            self._pacing.cancel()
        if self._untold:
            self._tell()

    async def _pace(self) -> None:
        await self._stream.clock.sleep(PAUSE_S)
        while self._untold:
            self._tell()
            await self._stream.clock.sleep(PAUSE_S)
        self._pacing = None

    def _tell(self) -> None:
        self._stream.emit(CallProgress(call=self._call, text=self._text, fraction=self._fraction))
        self._text, self._untold = "", False
