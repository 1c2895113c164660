"""The help of a command, from its own parameters."""

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from limnos.frontends.cli.table import PROGRAM, Command
from limnos.frontends.cli.words import Argument, Option, parameters

_WIDTH = 80


def group(command: Command, functions: dict[str, Callable[..., Any]]) -> str:
    """The help of a command with sub-commands."""
    column = max(map(len, functions)) + 2
    rows = [f"  {name:<{column}}{_first_line(function)}" for name, function in functions.items() if name]
    return "\n".join(
        (f"{PROGRAM} {command.name}: {command.summary}", *_examples(command), *rows, *_note(command), "")
    )


def single(command: Command, name: str, function: Callable[..., Any]) -> str:
    """The help of one command, from its function's parameters."""
    known = parameters(function)
    arguments = [one.mark for one in known if isinstance(one.mark, Argument)]
    options = [one.mark for one in known if isinstance(one.mark, Option)]
    words = filter(None, (command.name, name))
    usage = " ".join((PROGRAM, *words, *(argument.metavar for argument in arguments)))
    summary = _first_line(function) if name else command.summary
    rows = [(argument.metavar, argument.help) for argument in arguments if argument.help]
    rows += [(f"{option.flag} {option.metavar}".rstrip(), option.help) for option in options]
    column = max((len(left) for left, _ in rows), default=0) + 2
    return "\n".join(
        (
            f"{usage}: {summary}",
            *_examples(command, name),
            *(line for left, right in rows for line in _row(left, right, column)),
            *_note(command),
            "",
        )
    )


def _examples(command: Command, name: str = "") -> Iterator[str]:
    chosen = [text for text in command.examples if not name or f" {command.name} {name}" in text]
    if chosen:
        yield ""
        yield from (f"  {text}" for text in chosen)
    yield ""


def _row(left: str, right: str, column: int) -> list[str]:
    first, *more = textwrap.wrap(right, _WIDTH - 1 - column - 2) or [""]
    return [f"  {left:<{column}}{first}".rstrip(), *(f"  {'':<{column}}{text}" for text in more)]


def _note(command: Command) -> list[str]:
    return textwrap.wrap(command.note, _WIDTH) if command.note else []


def _first_line(function: Callable[..., Any]) -> str:
    return (function.__doc__ or "").strip().split("\n")[0].rstrip(".")
