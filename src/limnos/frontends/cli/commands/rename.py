"""`limnos rename`."""

import asyncio
from typing import Annotated

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.words import Argument


def rename(
    console: Console,
    session: Annotated[str, Argument(metavar="ID", help="the session")],
    title: Annotated[str, Argument(metavar="TITLE", help="its new title")],
) -> None:
    """Give a session a title."""
    asyncio.run(_rename(console, session, title))
    console.done(f"{one_line(session)} is now: {one_line(title)}", f"limnos open {one_line(session)}")


async def _rename(console: Console, session: str, title: str) -> None:
    async with kernel(console) as running:
        running.rename(session, title)


FUNCTIONS = {"": rename}
