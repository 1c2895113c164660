"""What would run: the words of one command, a script made anew from the parse, or the text as it stands."""

from typing import NamedTuple, TypeAlias

from limnos.agent.shell.grammar import Item, Pipeline, Redirect, Simple, Tree, read
from limnos.agent.shell.place import Place
from limnos.agent.shell.policies.builtins import NAMES as BUILTINS
from limnos.agent.shell.words import text_of

MAX_COMMANDS = 32
_FREE_FILES = frozenset({"/dev/null"})
_TO_FILE = {">": ">", ">>": ">>", ">|": ">|", "&>": "&>", "&>>": "&>>", "<": "<", "<>": "<>", ">&": "&>"}


class Argv(NamedTuple):
    """One program: execve of exactly these words."""

    words: tuple[str, ...]


class Script(NamedTuple):
    """A script of plain commands with every word quoted. `commands` are their words, in order."""

    text: str
    commands: tuple[tuple[str, ...], ...]


class Text(NamedTuple):
    """The text itself, for `bash --norc --noprofile -c`: only after a yes to this text.

    `plain`: nothing in it is replaced; it only has more commands than are rebuilt.
    """

    command: str
    plain: bool = False


Plan: TypeAlias = Argv | Script | Text


class _NotPlainError(Exception):
    """The text holds something that is not rebuilt."""


def plan_of(command: str, script: Tree, place: Place) -> Plan:
    """How `command`, read as `script`, runs. Only what is rebuilt may pass without a yes."""
    if script.faults or not script.items:
        return Text(command)
    commands: list[tuple[str, ...]] = []
    try:
        text = "".join(_item(item, place, commands) for item in script.items)
    except _NotPlainError:
        return Text(command)
    if len(commands) > MAX_COMMANDS:
        return Text(command, plain=True)
    only = script.items[0].pipeline
    if len(commands) == 1 and not only.prefix and not _redirects(only) and commands[0][0] not in BUILTINS:
        return Argv(commands[0])
    return Script(text, tuple(commands)) if _means_the_same(text, commands, place) else Text(command)


def _redirects(pipeline: Pipeline) -> bool:
    return any(stage.redirects for stage in pipeline.stages)


def _item(item: Item, place: Place, commands: list[tuple[str, ...]]) -> str:
    if item.background or "!" in item.pipeline.prefix:
        raise _NotPlainError
    before = "" if not commands else f" {item.after} " if item.after != ";" else "; "
    prefix = " ".join(item.pipeline.prefix) + " " if item.pipeline.prefix else ""
    text = before + prefix
    for number, stage in enumerate(item.pipeline.stages):
        text += " | " if number else ""
        merges = item.pipeline.joins[number] == "|&" if number < len(item.pipeline.joins) else False
        text += _simple(stage, place, commands) + (" 2>&1" if merges else "")
    return text


def _simple(stage: object, place: Place, commands: list[tuple[str, ...]]) -> str:
    if not isinstance(stage, Simple) or stage.assignments or not stage.words:
        raise _NotPlainError
    words: list[str] = []
    for token in stage.words:
        found = text_of(token.pieces, place)
        if not found.exact:
            raise _NotPlainError
        words.append(found.shown)
    if not words[0] or any("\0" in word for word in words):
        raise _NotPlainError
    commands.append(tuple(words))
    return " ".join([*map(quoted, words), *(_redirect(one, place) for one in stage.redirects)])


def _redirect(redirect: Redirect, place: Place) -> str:
    descriptor = redirect.descriptor
    if redirect.target is None or not (descriptor.isdigit() or descriptor == ""):
        raise _NotPlainError
    target = text_of(redirect.target.pieces, place)
    if not target.exact:
        raise _NotPlainError
    if copies_descriptor(redirect.operator, target.shown):
        return f"{descriptor}{redirect.operator}{target.shown}"
    if redirect.operator not in _TO_FILE or (redirect.operator == ">&" and descriptor):
        raise _NotPlainError
    return f"{descriptor}{_TO_FILE[redirect.operator]}{quoted(target.shown)}"


def copies_descriptor(operator: str, target: str) -> bool:
    """`2>&1`, `<&3`, `2>&-`: no file is opened."""
    plain = target.isascii() and (
        target.isdigit() or target == "-" or (target[:-1].isdigit() and target[-1:] == "-")
    )
    return operator in (">&", "<&") and plain


def is_free(operator: str, target: str) -> bool:
    """Whether a redirection touches no file that matters."""
    return copies_descriptor(operator, target) or (operator in _TO_FILE and target in _FREE_FILES)


def quoted(word: str) -> str:
    """The word in single quotes."""
    return "'" + word.replace("'", "'\\''") + "'"


def _means_the_same(text: str, commands: list[tuple[str, ...]], place: Place) -> bool:
    """Whether the made text reads as the same commands again."""
    script = read(text)
    stages = [stage for item in script.items for stage in item.pipeline.stages]
    again = [
        tuple(text_of(token.pieces, place).shown for token in stage.words)
        for stage in stages
        if isinstance(stage, Simple)
    ]
    return not script.faults and again == commands
