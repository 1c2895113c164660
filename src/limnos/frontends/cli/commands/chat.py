"""A bare `limnos`: the chat in this folder."""

from typing import Annotated

from limnos.frontends.cli.chatting import chat_with
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.starting import Flags
from limnos.frontends.cli.words import Option
from limnos.service.client import Open


def chat(
    console: Console,
    *,
    mode: Annotated[str | None, Option("--mode", metavar="MODE", help="ask (default), auto, yolo")] = None,
    model: Annotated[str | None, Option("--model", metavar="NAME", help="for this chat only")] = None,
    steps: Annotated[int | None, Option("--steps", metavar="N", help="at most N steps a turn")] = None,
    max_cost: Annotated[
        str | None, Option("--max-cost", metavar="X", help="stop a turn at this cost")
    ] = None,
    trust: Annotated[bool, Option("--trust", help="trust this folder, for this chat")] = False,
    yes: Annotated[bool, Option("--yes", help="yes to fetching the model when it is missing")] = False,
) -> int:
    """Chat in this folder."""
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
