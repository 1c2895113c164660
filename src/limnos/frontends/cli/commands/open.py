"""`limnos open`."""

from typing import Annotated

from limnos import lazy
from limnos.frontends.cli.chatting import chat_with
from limnos.frontends.cli.console import console_of
from limnos.frontends.cli.starting import Flags
from limnos.service.client import Open


def open_session(
    ctx: lazy.typer.Context,
    session: Annotated[str, lazy.typer.Argument(metavar="ID", help="the session, from limnos sessions")],
    fork: Annotated[
        bool, lazy.typer.Option("--fork", help="go on in a copy; this one stays as it is")
    ] = False,
    model: Annotated[
        str | None, lazy.typer.Option("--model", metavar="NAME", help="for this chat only")
    ] = None,
) -> int:
    """Go on with a session."""
    console = console_of(ctx)
    how = Open(session=session, cwd=console.folder, model=model, attended=console.terminal.can_ask)
    return chat_with(console, Flags(model=model), how, fork=fork)


FUNCTIONS = {"": open_session}
