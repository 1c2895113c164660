"""`limnos fork`."""

import asyncio
from typing import Annotated

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.words import Argument, Option


def fork(
    console: Console,
    session: Annotated[str, Argument(metavar="ID", help="the session")],
    at: Annotated[
        int | None,
        Option("--at", metavar="SEQ", help="the last event to take over: the end of a step"),
    ] = None,
) -> None:
    """A new session with the events up to a step."""
    made = asyncio.run(_fork(console, session, at))
    if not console.terminal.stdout:
        console.data(f"{made}\n")
    console.done(f"{made} is a fork of {one_line(session)}", f"limnos open {made}")


async def _fork(console: Console, session: str, at: int | None) -> str:
    async with kernel(console) as running:
        return running.fork(session, at)


FUNCTIONS = {"": fork}
