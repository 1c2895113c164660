"""`limnos rename`."""

import asyncio
from typing import Annotated

from limnos import lazy
from limnos.frontends.cli.console import Console, console_of
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.starting import kernel


def rename(
    ctx: lazy.typer.Context,
    session: Annotated[str, lazy.typer.Argument(metavar="ID", help="the session")],
    title: Annotated[str, lazy.typer.Argument(metavar="TITLE", help="its new title")],
) -> None:
    """Give a session a title."""
    console = console_of(ctx)
    asyncio.run(_rename(console, session, title))
    console.done(f"{one_line(session)} is now: {one_line(title)}", f"limnos open {one_line(session)}")


async def _rename(console: Console, session: str, title: str) -> None:
    async with kernel(console) as running:
        running.rename(session, title)


FUNCTIONS = {"": rename}
