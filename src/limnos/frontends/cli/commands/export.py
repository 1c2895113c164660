"""`limnos export`."""

import asyncio
from typing import Annotated, Literal

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import visible
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError

_FORMS: dict[str, Literal["markdown", "openai"]] = {"markdown": "markdown", "openai": "openai"}


def export(
    console: Console,
    session: Annotated[str, Argument(metavar="ID", help="the session; - is the newest")],
    form: Annotated[
        str, Option("--format", metavar="FORMAT", help="markdown (default) or openai")
    ] = "markdown",
) -> None:
    """Write a session to stdout."""
    if form not in _FORMS:
        raise UsageError(f"{form!r} is no format", "limnos export ID --format openai")
    text = asyncio.run(_export(console, session, _FORMS[form]))
    shown = visible(text) if console.terminal.stdout else text
    console.data(shown if shown.endswith("\n") else shown + "\n")


async def _export(console: Console, session: str, form: Literal["markdown", "openai"]) -> str:
    async with kernel(console) as running:
        if session == "-":
            newest = running.sessions(1)
            if not newest:
                raise UsageError("there is no session yet", "limnos")
            session = newest[0].id
        return running.export(session, form)


FUNCTIONS = {"": export}
