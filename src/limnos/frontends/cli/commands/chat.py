"""A bare `limnos`: the chat in this folder."""

from typing import Annotated

from limnos import lazy
from limnos.frontends.cli.chatting import chat_with
from limnos.frontends.cli.console import console_of
from limnos.frontends.cli.starting import Flags
from limnos.service.client import Open


def chat(
    ctx: lazy.typer.Context,
    *,
    mode: Annotated[
        str | None, lazy.typer.Option("--mode", metavar="MODE", help="ask (default), auto, yolo")
    ] = None,
    model: Annotated[
        str | None, lazy.typer.Option("--model", metavar="NAME", help="for this chat only")
    ] = None,
    steps: Annotated[
        int | None, lazy.typer.Option("--steps", metavar="N", help="at most N steps a turn")
    ] = None,
    max_cost: Annotated[
        str | None, lazy.typer.Option("--max-cost", metavar="X", help="stop a turn at this cost")
    ] = None,
    trust: Annotated[bool, lazy.typer.Option("--trust", help="trust this folder, for this chat")] = False,
    yes: Annotated[
        bool, lazy.typer.Option("--yes", help="yes to fetching the model when it is missing")
    ] = False,
) -> int:
    """Chat in this folder."""
    console = console_of(ctx)
    how = Open(
        cwd=console.folder,
        mode=mode,
        model=model,
        steps=steps,
        max_cost=max_cost,
        trust=trust,
        attended=console.terminal.can_ask,
    )
    return chat_with(console, Flags(mode, model, steps, max_cost), how, yes=yes)


FUNCTIONS = {"": chat}
