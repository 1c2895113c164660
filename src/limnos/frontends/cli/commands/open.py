"""`limnos open`."""

from typing import Annotated

from limnos.frontends.cli.chatting import chat_with
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.starting import Flags, open_request
from limnos.frontends.cli.words import Argument, Option


def open_session(
    console: Console,
    session: Annotated[str, Argument(metavar="ID", help="the session, from limnos sessions")],
    fork: Annotated[bool, Option("--fork", help="go on in a copy; this one stays as it is")] = False,
    model: Annotated[str | None, Option("--model", metavar="NAME", help="for this chat only")] = None,
) -> int:
    """Go on with a session."""
    flags = Flags(model=model)
    return chat_with(console, flags, open_request(console, flags, session=session), fork=fork)


FUNCTIONS = {"": open_session}
