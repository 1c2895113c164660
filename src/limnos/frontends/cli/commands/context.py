"""`limnos context`."""

import asyncio
import os
from pathlib import Path
from typing import Annotated

from limnos.agent.window_view import view_of_log
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.window_lines import window_lines
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.retrieval import tokens


def context(
    console: Console,
    session: Annotated[
        str, Argument(metavar="ID", help="a session; without it the newest of this folder")
    ] = "",
    as_json: Annotated[bool, Option("--json", help="one record, with every unit of the window")] = False,
) -> None:
    """Show what fills the window of a session."""
    path = asyncio.run(_path(console, session))
    view = view_of_log(path, tokens.count)
    if not as_json:
        for row in window_lines(console.look, view):
            console.show(row)
        return
    record = view._asdict()
    record["parts"] = [part._asdict() for part in view.parts]
    record["units"] = [unit._asdict() for unit in view.units]
    console.record(record)


async def _path(console: Console, session: str) -> Path:
    async with kernel(console) as running:
        if session:
            return Path(running.path(session))
        newest = running.newest_in(os.getcwd())
        if newest is None:
            raise UsageError(
                "no session was started in this folder", "limnos sessions, then limnos context ID"
            )
        return Path(newest.path)


FUNCTIONS = {"": context}
