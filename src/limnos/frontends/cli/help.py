"""Help: the first screen from the table alone, a command's from its own parameters, topics from here."""

import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from limnos.frontends.cli.table import COMMANDS, PROGRAM, Command

_WIDTH = 80

_TOPICS = {
    "guide": """\
limnos: the short guide

  limnos                 chat in this folder; the first start offers models
  limnos run "TASK"      one task; what needs a yes is asked, or denied
  limnos sessions        everything is kept; open, fork, replay or export it
  limnos doctor          when something does not work

In the chat: Enter sends, or queues while it works; Alt-Enter or /now gives a
line to the running turn; Esc stops; Ctrl-J or \\ and Enter make a new line.
A question is answered by a letter and Enter, or by Alt-N (no) and Alt-Y (once).
All state is under LIMNOS_HOME (~/.limnos). The whole guide: docs/guide.
Report a fault where you got limnos from, with the output of: limnos doctor
""",
    "modes": """\
limnos: the three modes

  ask    what needs approval and no rule allows is asked (the default)
  auto   the same, but file edits inside a trusted folder pass unasked
  yolo   asks only what must always be asked; denials stay

  limnos run --mode auto "fix the typo in README.md"
  limnos config set mode auto
""",
}


def top() -> str:
    """The first screen."""
    groups: dict[str, list[str]] = {}
    for command in COMMANDS.values():
        groups.setdefault(command.group, []).append(command.name)
    rows = "\n".join(f"{group:<10}{'  '.join(names)}" for group, names in groups.items())
    return f"""\
{PROGRAM}: an agent you can leave running

  limnos                            chat in this folder
  limnos run "make the tests pass"
  git diff | limnos run "review this" -

{rows}

  --json   events or records, one a line     --accessible  nothing is redrawn
  --plain  no columns    --no-color          --no-input    never ask
  --debug  show the traceback of an error    --version
limnos help COMMAND; limnos help guide: the guide, and where to report
"""


def topic(name: str) -> str | None:
    """The text of a help topic, or None."""
    return _TOPICS.get(name)


def group(command: Command, functions: dict[str, Callable[..., Any]]) -> str:
    """The help of a command with sub-commands."""
    column = max(map(len, functions)) + 2
    rows = [f"  {name:<{column}}{_first_line(function)}" for name, function in functions.items() if name]
    return "\n".join(
        (f"{PROGRAM} {command.name}: {command.summary}", *_examples(command), *rows, *_note(command), "")
    )


def single(command: Command, name: str, function: Callable[..., Any], parameters: Iterable[Any]) -> str:
    """The help of one command; `parameters` are those that the parser made of its function."""
    known = [parameter for parameter in parameters if not getattr(parameter, "hidden", False)]
    arguments = [p for p in known if p.param_type_name == "argument"]
    usage = " ".join(
        (PROGRAM, *filter(None, (command.name, name)), *(_argument(argument) for argument in arguments))
    )
    summary = _first_line(function) if name else command.summary
    options = [_option(p) for p in known if p.param_type_name == "option"]
    rows = [(_argument(a), a.help or "") for a in arguments if a.help] + options
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


def _argument(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper()


def _option(parameter: Any) -> tuple[str, str]:
    flag = parameter.opts[0]
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return flag + value, parameter.help or ""
