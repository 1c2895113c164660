"""`limnos replay`."""

import asyncio
import time
from dataclasses import asdict
from math import inf
from pathlib import Path
from typing import Annotated

from limnos.agent.clock import SystemClock
from limnos.agent.replay import verify
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.playback import frames, summary
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.times import counted
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.kernel.event_records import to_record
from limnos.store.audit import History, read_history

_SLOWEST = 0.001  # a pause of a minute takes most of a day
_MOST_BYTES = 500_000_000  # of a record file: the whole of it is held in memory


def replay(
    console: Console,
    *,
    source: Annotated[str, Argument(metavar="ID", help="a session, or its file")],
    check: Annotated[
        bool,
        Option("--verify", help="run the loop on the recording and report the first difference"),
    ] = False,
    speed: Annotated[
        float, Option("--speed", metavar="N", help="play N times as fast as it was; 0: at once")
    ] = 0.0,
    at: Annotated[int, Option("--at", metavar="SEQ", help="begin at this event")] = 0,
    as_json: Annotated[bool, Option("--json", help="the events, one a line")] = False,
) -> int:
    """Play back what happened in a session."""
    if speed and not _SLOWEST <= speed < inf:
        raise UsageError(
            f"--speed is {speed:g}, not 0 or at least {_SLOWEST:g}", "limnos replay ID --speed 2"
        )
    path = Path(source) if Path(source).is_file() else asyncio.run(_path(console, source))
    if (size := path.stat().st_size) > _MOST_BYTES:
        what = f"{source} has {size:,} bytes, and a session at most {_MOST_BYTES:,}"
        raise UsageError(what, "name a session of limnos sessions")
    history = read_history(path)
    if not history.events:
        raise UsageError(f"{source} is no session", "limnos sessions")
    if check:
        return _verify(console, path, as_json)
    if as_json:
        for event in history.events:
            if event.seq >= at:
                console.record(to_record(event))
        return 0
    _play(console, history, at, speed)
    return 0


def _play(console: Console, history: History, at: int, speed: float) -> None:
    console.say(summary(history.events))
    if history.damaged:
        console.say_line(console.look.signed("ask", "some records are damaged and were left out"))
    for frame in frames(console.look, history.events):
        if frame.event.seq < at:
            continue
        if speed > 0:
            time.sleep(frame.seconds / speed)
        for row in frame.rows:
            console.show(row)


def _verify(console: Console, path: Path, as_json: bool) -> int:
    found = verify(path, SystemClock())
    if as_json:
        console.record(asdict(found))
        return 1 if found.divergence or found.damaged else 0
    parts = (
        counted(found.events, "event"),
        f"{_replies(found.replies)} and {counted(found.results, 'result')} as recorded",
    )
    if (first := found.divergence) is not None:
        what = f"#{first.seq} {first.what}: recorded {first.recorded}, replayed {first.replayed}"
        console.complain(what, f"limnos replay {path} --at {first.seq}")
    if found.damaged:
        console.complain(f"parts of {path} are damaged", "limnos replay shows what is left")
    if found.damaged or first is not None:
        return 1
    console.show(console.look.signed("done", f"{', '.join(parts)}, no divergence"))
    return 0


def _replies(count: int) -> str:
    return "1 reply" if count == 1 else f"{count:,} replies"


async def _path(console: Console, session: str) -> Path:
    async with kernel(console) as running:
        try:
            return Path(running.path(session))
        except UsageError as error:
            raise UsageError(f"there is no session and no file {session!r}", error.fix) from None


FUNCTIONS = {"": replay}
