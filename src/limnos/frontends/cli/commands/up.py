"""`limnos up`."""

import asyncio
from typing import Annotated

from limnos.agent.settings import load
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.words import Option
from limnos.process.privacy import keep_private
from limnos.service import control, daemon


def up(
    console: Console,
    foreground: Annotated[bool, Option("--foreground", help="stay in this terminal; Ctrl-C ends it")] = False,
) -> int:
    """Start the daemon of this home, and wait until it is ready."""
    load(console.environment)  # a setting that is wrong is said here, not in a log
    if foreground:
        keep_private()
        asyncio.run(daemon.run(console.environment, console.say))
        return 0
    pid = control.start(console.environment)
    console.done(f"daemon ready, process {pid}", "limnos status")
    return 0


FUNCTIONS = {"": up}
