"""Starting and ending the daemon of a home from outside."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from limnos.agent.settings import Environment
from limnos.kernel.errors import LimnosError, UsageError
from limnos.service.daemon import CLOSE_SECONDS, holder
from limnos.service.link import Link, LostError, RefusedError
from limnos.service.log import last_lines
from limnos.service.place import Place

START_SECONDS: Final = 20.0
_PAUSE_SECONDS: Final = 0.02
_COMMAND: Final = (sys.executable, "-m", "limnos.service.daemon")


def start(environment: Environment, seconds: float = START_SECONDS) -> int:
    """Start a daemon of its own session and wait until it answers; its process.

    Raises UsageError when there is one already, LimnosError that says why it did not start.
    """
    place = Place(environment.home)
    if pid := holder(place):
        raise UsageError(f"a daemon holds this home already: process {pid}", "limnos status, or limnos down")
    child = subprocess.Popen(
        _COMMAND,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(environment.variables),
        cwd="/",
        start_new_session=True,
    )
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise LimnosError(f"the daemon ended at once: {_why(place)}", "limnos logs")
        if holder(place) == child.pid and _answers(place):
            return child.pid
        time.sleep(_PAUSE_SECONDS)
    child.kill()
    child.wait()
    raise LimnosError(f"the daemon was not ready after {seconds:g} s: {_why(place)}", "limnos logs")


def stop(environment: Environment, seconds: float = CLOSE_SECONDS + 5) -> int:
    """End the daemon of this home: by its socket, else by a signal, at last by force.

    Only the process that holds the home is touched. Returns its number, 0 when there was none.
    """
    place = Place(environment.home)
    pid = holder(place)
    if not pid:
        _clean(place)
        return 0
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return 0
    try:
        if holder(place) != pid:  # it ended in between: the descriptor may be of another process
            return 0
        for act, wait in _ways(place, process, seconds):
            with suppress(LimnosError, ProcessLookupError):
                act()
            if select.select([process], [], [], wait)[0]:
                _clean(place)
                return pid
    finally:
        os.close(process)
    raise LimnosError(f"process {pid} does not end", "limnos logs")


def _ways(place: Place, process: int, seconds: float) -> list[tuple[Callable[[], None], float]]:
    def ask() -> None:
        link = Link(place, answer_seconds=2.0)
        try:
            link.call("daemon.stop", {}, again=False)
        finally:
            link.close()

    return [
        (ask, seconds),
        (lambda: signal.pidfd_send_signal(process, signal.SIGTERM), min(seconds, 5.0)),
        (lambda: signal.pidfd_send_signal(process, signal.SIGKILL), 5.0),
    ]


def _answers(place: Place) -> bool:
    link = Link(place, answer_seconds=2.0)
    try:
        link.connect()
    except (LostError, RefusedError):
        return False
    finally:
        link.close()
    return True


def _why(place: Place) -> str:
    lines = last_lines(place.log, 1)
    return lines[-1].partition(" ")[2] if lines else "it said nothing"


def _clean(place: Place) -> None:
    """Remove what a daemon that was killed left behind."""
    for path in (place.socket, place.token):
        with suppress(OSError):
            path.unlink()
