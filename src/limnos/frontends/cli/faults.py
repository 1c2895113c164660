"""What ends a front end from outside: signals, a full disk, and mistakes of ours in the event loop."""

import asyncio
import signal
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from limnos.frontends.cli.spans import line
from limnos.kernel.events import TurnFinished
from limnos.service.client import Session

# A closed terminal ends a turn as an order to end does: else its command would go on without anybody.
ENDINGS = (signal.SIGTERM, signal.SIGHUP)
STOPPING = line("  stopping; Ctrl-C again ends it without clean-up")


def is_unsaved(session: Session, finished: TurnFinished) -> bool:
    """Whether a turn ended because nothing can be saved: such an end is told, but stands nowhere."""
    return finished.reason == "failed" and session.last_seq < finished.seq


@contextmanager
def faults_to(fail: Callable[[BaseException], None]) -> Generator[None]:
    """Inside, an exception that nobody awaits goes to `fail`."""
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()

    def handle(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        fail(context.get("exception") or OSError(str(context["message"])))

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)


@contextmanager
def signals_to(acts: Mapping[signal.Signals, Callable[[], None]]) -> Generator[None]:
    """Inside, each of these signals calls its function."""
    loop = asyncio.get_running_loop()
    for number, act in acts.items():
        loop.add_signal_handler(number, act)
    try:
        yield
    finally:
        for number in acts:
            loop.remove_signal_handler(number)
