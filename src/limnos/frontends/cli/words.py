"""The words of a command line, read by the signature of the command's function.

A command is a function. Its first parameter is the console; the others are declared as
`Annotated[type, Argument(...)]` or `Annotated[type, Option(...)]`: parser, help and errors come from that.
Options that several commands share are the fields of a NamedTuple, which is then the type of one parameter.
"""

import argparse
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn, get_args, get_type_hints

from limnos import lazy
from limnos.frontends.cli.private import without_keys
from limnos.kernel.errors import UsageError


class Argument(NamedTuple):
    """A positional word."""

    metavar: str
    help: str = ""


class Option(NamedTuple):
    """A flag; without a metavar it takes no value."""

    flag: str
    metavar: str = ""
    help: str = ""


class Parameter(NamedTuple):
    """One parameter of a command. `many` takes all the words that are left."""

    name: str
    mark: Argument | Option
    kind: type
    many: bool
    required: bool
    default: Any


_NO_OPTION = "\0"  # no word of a command line can hold it
_SHOWN = 60
_KINDS = {int: "a whole number", float: "a number"}


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """What `function` takes beside the console, in order; the fields of a group stand in its place."""
    hints = get_type_hints(function, include_extras=True)
    found: list[Parameter] = []
    for name, given in inspect.signature(function).parameters.items():
        if _is_group(hints.get(name)):
            found += parameters(hints[name])
            continue
        mark = next((one for one in get_args(hints.get(name)) if isinstance(one, Argument | Option)), None)
        if mark is not None:
            kind, many = _kind(get_args(hints[name])[0])
            required = given.default is inspect.Parameter.empty
            found.append(Parameter(name, mark, kind, many, required, None if required else given.default))
    return found


def _groups(function: Callable[..., Any]) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(function).items() if _is_group(hint)}


def _is_group(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "_fields")


def _kind(hint: Any) -> tuple[type, bool]:
    """The type of one word, and whether there may be many; `None` beside it only says it may be absent."""
    if isinstance(hint, types.UnionType):
        return _kind(next(one for one in get_args(hint) if one is not types.NoneType))
    if getattr(hint, "__origin__", None) is list:
        return get_args(hint)[0], True
    return hint, False


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}", f"limnos help {self.prog.partition(' ')[2]}".rstrip())


def read(
    function: Callable[..., Any], words: Sequence[str], program: str, *, private: bool = False
) -> dict[str, Any]:
    """The keyword arguments that `words` stand for.

    Raises UsageError that names the nearest option, and when `private` never what was typed.
    """
    known = parameters(function)
    parser = _Parser(program, add_help=False, allow_abbrev=False)
    for parameter in known:
        _declare(parser, parameter)
    given, extra = parser.parse_known_intermixed_args(_marked(words))
    if extra and private:
        raise _unsaid(known, program)
    if extra:
        raise _unknown(extra[0].removeprefix(_NO_OPTION), known, program)
    values = dict(vars(given))
    for name, group in _groups(function).items():
        values[name] = group(*(values.pop(field) for field in group._fields))
    return values


def _marked(words: Sequence[str]) -> list[str]:
    """`words` with a mark on each behind the first `--`: the parser would still see options in them."""
    end = list(words).index("--") if "--" in words else len(words)
    return [*words[:end], *(_NO_OPTION + word for word in words[end + 1 :])]


def _declare(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    mark = parameter.mark
    if isinstance(mark, Option) and not mark.metavar:
        parser.add_argument(mark.flag, dest=parameter.name, action="store_true")
    elif isinstance(mark, Option):
        parser.add_argument(
            mark.flag, dest=parameter.name, type=_value_reader(parameter.kind), default=parameter.default
        )
    else:
        count = "*" if parameter.many else None if parameter.required else "?"
        parser.add_argument(
            parameter.name,
            metavar=mark.metavar,
            nargs=count,
            type=_reader(parameter.kind),
            default=parameter.default,
        )


def _reader(kind: type) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        text = text.removeprefix(_NO_OPTION)
        try:
            return kind(text)
        except ValueError:
            what = _KINDS.get(kind, kind.__name__)
            shown = without_keys(text, [text])[:_SHOWN]  # a key that was cut would be known as none
            raise argparse.ArgumentTypeError(f"{shown!r} is not {what}") from None

    return convert


def _value_reader(kind: type) -> Callable[[str], Any]:
    """A reader for the value of an option, which can't stand behind `--`."""
    plain = _reader(kind)

    def convert(text: str) -> Any:
        if text.startswith(_NO_OPTION):
            raise argparse.ArgumentTypeError("expected one argument")
        return plain(text)

    return convert


def _unsaid(known: Sequence[Parameter], program: str) -> UsageError:
    marks = (one.mark for one in known)
    taken = ", ".join(mark.metavar if isinstance(mark, Argument) else mark.flag for mark in marks)
    what = f"{program} takes nothing but {taken}; a key is never an argument"
    return UsageError(what, f"limnos help {program.partition(' ')[2]}")


def _unknown(word: str, known: Sequence[Parameter], program: str) -> UsageError:
    command = program.partition(" ")[2]
    help_of = f"limnos help {command}" if command else "limnos --help"
    flag = word.split("=", 1)[0]
    if not flag.startswith("-") or flag == "-":
        return UsageError(f"{program} does not take `{word}`", help_of)
    flags = [one.mark.flag for one in known if isinstance(one.mark, Option)]
    near = lazy.difflib.get_close_matches(flag, flags, 1)
    fix = (
        f"{program} {near[0]}" if near else f"limnos help {command}".rstrip() if command else "limnos --help"
    )
    return UsageError(f"no option `{flag}` of {program}", fix)
