"""From words to a command: global flags, help, the parser, and every error as two lines."""

import importlib
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from limnos import __version__, lazy
from limnos.agent.settings import Environment, read_environment
from limnos.frontends.cli import command_help
from limnos.frontends.cli import help as help_texts
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.look import Terminal, continuing_by
from limnos.frontends.cli.table import CHAT, COMMANDS, GLOBAL_FLAGS, PROGRAM, Command
from limnos.frontends.cli.words import read
from limnos.kernel.errors import LimnosError, UsageError

_STOPPED = 130
_ERROR_LOG = "limnos.frontends.cli.error_log"  # a third of the start's time, and hardly ever needed


class Words(NamedTuple):
    """The command line taken apart: the command, its function, what is left for its parser."""

    command: Command
    name: str
    function: Callable[..., Any]
    rest: Sequence[str]


def run(arguments: Sequence[str], *, unicode: bool) -> int:
    """Do what the command line says and return the exit code. Lets BrokenPipeError pass."""
    before, after = _split(arguments)
    flags = [word for word in before if word in GLOBAL_FLAGS]
    words = [word for word in before if word not in GLOBAL_FLAGS] + after
    environment = read_environment()
    console = _console(environment, words, flags, unicode)
    try:
        return _dispatch(words, console)
    except LimnosError as error:
        console.complain(error.what, continuing_by(error.fix, "try again"))
        return error.exit_code
    except KeyboardInterrupt:
        console.say("stopped by you")
        return _STOPPED
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the border of the front end: people see two lines, the log has the rest
        return _unexpected(error, console, debug="--debug" in flags)


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What stands before `--`, and the rest with it."""
    words = list(arguments)
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end:]


def _console(environment: Environment, words: Sequence[str], flags: Sequence[str], unicode: bool) -> Console:
    columns = environment.text("COLUMNS")
    terminal = Terminal(
        stdin=sys.stdin is not None and sys.stdin.isatty(),
        stdout=sys.stdout.isatty(),
        stderr=sys.stderr.isatty(),
        unicode=unicode,
        dumb=environment.text("TERM") in ("", "dumb"),
        no_color=environment.no_color or "--no-color" in flags,
        accessible=environment.accessible or "--accessible" in flags,
        no_input="--no-input" in flags,
        plain="--plain" in flags,
        columns=int(columns) if columns.isdecimal() else 0,
    )
    return Console(environment, terminal, terminal.look(environment.text("HOME")), words)


def _dispatch(words: Sequence[str], console: Console) -> int:
    asked = list(words[: words.index("--") if "--" in words else None])
    if asked[:1] == ["help"] or "-h" in asked or "--help" in asked:
        chat = bool(asked) and asked[0].startswith("-")
        return _help([] if chat else [w for w in asked if not w.startswith("-") and w != "help"], console)
    if asked[:1] == ["--version"]:
        console.data(f"{PROGRAM} {__version__}\n")
        return 0
    if console.terminal.redraws and (not words or words[0].startswith("-")):
        console.greeting.begin()
    found = _find(words)
    outcome = _parse(found, console)
    return outcome if isinstance(outcome, int) else 0


def _find(words: Sequence[str]) -> Words:
    if not words or words[0].startswith("-"):
        return Words(CHAT, "", _functions(CHAT)[""], words)
    command = _command(words[0])
    functions = _functions(command)
    rest = words[1:]
    if rest and rest[0] in functions and rest[0]:
        return Words(command, rest[0], functions[rest[0]], rest[1:])
    if "" in functions and (len(functions) == 1 or not rest or rest[0].startswith("-")):
        return Words(command, "", functions[""], rest)
    if command.private or not rest or rest[0].startswith("-"):
        raise UsageError(_needs(command, functions), _help_of(command.name))
    near = _near(rest[0], list(functions))
    fix = f"{PROGRAM} {command.name} {near}" if near else _help_of(command.name)
    raise UsageError(f"no command `{command.name} {rest[0]}`", fix)


def _command(word: str) -> Command:
    if word in COMMANDS:
        return COMMANDS[word]
    if word == CHAT.module:
        return CHAT
    near = _near(word, list(COMMANDS))
    raise UsageError(f"no command `{word}`", f"{PROGRAM} {near}" if near else f"{PROGRAM} --help")


def _near(word: str, known: Sequence[str]) -> str | None:
    return next(iter(lazy.difflib.get_close_matches(word, [name for name in known if name], 1)), None)


def _needs(command: Command, functions: dict[str, Callable[..., Any]]) -> str:
    return f"{PROGRAM} {command.name} needs one of: {', '.join(filter(None, functions))}"


def _help_of(name: str) -> str:
    return f"{PROGRAM} help {name}" if name else f"{PROGRAM} --help"


def _functions(command: Command) -> dict[str, Callable[..., Any]]:
    return command.load().FUNCTIONS


def _parse(found: Words, console: Console) -> Any:
    name = " ".join(filter(None, (PROGRAM, found.command.name, found.name)))
    given = read(found.function, found.rest, name, private=found.command.private)
    return found.function(console, **given)


def _help(names: Sequence[str], console: Console) -> int:
    if not names:
        console.data(help_texts.top())
        return 0
    text = help_texts.topic(names[0])
    console.data(text if text is not None else _command_help(names))
    return 0


def _command_help(names: Sequence[str]) -> str:
    command = _command(names[0])
    functions = _functions(command)
    chosen = names[1] if len(names) > 1 and names[1] in functions else ""
    if chosen or len(functions) == 1:
        function = functions[chosen]
        return command_help.single(command, chosen, function)
    return command_help.group(command, functions)


def _unexpected(error: Exception, console: Console, *, debug: bool) -> int:
    log = importlib.import_module(_ERROR_LOG)
    text = log.clean(console.environment, "".join(traceback.format_exception(error)))
    if debug:
        sys.stderr.write(text)
    kept = log.keep(console.environment.home, text)
    console.complain(
        f"limnos made a mistake: {type(error).__name__}: {log.clean(console.environment, str(error))}",
        f"report it with {kept}" if kept else "run it again with --debug and report what it prints",
    )
    return 1
