"""Parts as rules are compared with them: a command with its other spellings, a file that is opened."""

from collections.abc import Sequence

from limnos.agent.shell.options import Call, read_options
from limnos.agent.shell.place import UNKNOWN, Place, is_inside, meanings, protected_name
from limnos.agent.shell.policies.judging import FAMILIES
from limnos.agent.shell.record import Argument
from limnos.kernel.findings import Part

_NETWORK_FILES = ("/dev/tcp/", "/dev/udp/")
KINDS = {
    "(": "( … ) runs commands in a shell of their own",
    "{": "{ … } groups commands",
    "if": "if decides what runs",
    "while": "while repeats commands",
    "until": "until repeats commands",
    "for": "for repeats commands with words that change",
    "select": "select asks for words",
    "case": "case decides what runs",
    "[[": "[[ … ]] can compute, which can run commands",
    "((": "(( … )) computes, which can run commands",
    "function": "a function changes what a word means",
    "coproc": "coproc starts a process beside the others",
}


def command_part(shown: tuple[str, ...], arguments: Sequence[Argument], call: Call, reason: str) -> Part:
    """The part of a command: `shown` are its words, `call` what they probably mean."""
    word = shown[0]
    if "/" in word:
        reason = reason or f"{word} names a program by its path"
    if not word.isascii() or not word:
        reason = f"{word!r} is an unusual name of a program"
    guess = tuple(one.guess for one in arguments)
    written = tuple(one.written for one in arguments)
    spellings = {(call.name, *shown[1:]), written, guess, (call.name, *guess[1:]), _without_globals(call)}
    if call.unseen:
        spellings |= {(*words, "{}") for words in spellings if words}
    also = [words for words in spellings - {shown, ()} if UNKNOWN not in "".join(words)]
    return Part(shown, tuple(sorted(also)), call.place.program(word), reason)


def _without_globals(call: Call) -> tuple[str, ...]:
    """`git push` for `git -C x push`."""
    family = FAMILIES.get(call.name)
    if family is None:
        return ()
    options = read_options(family.flags, call.args)
    return (call.name, *options.operands) if options.operands else ()


def file_part(operator: str, shown: str, place: Place, folders: Sequence[str]) -> Part:
    """The part of a redirection: `>` or `<` and the path from the working folder."""
    sign = "<" if operator in ("<", "<&") else ">"
    paths = meanings(shown, place, folders)
    normal = paths.absolute[0] if paths.absolute else shown
    words = (sign, normal.removeprefix(place.cwd.rstrip("/") + "/"))
    also = dict.fromkeys(((sign, shown), (operator, shown), *((sign, one) for one in paths.absolute)))
    reason = ""
    if shown.startswith(_NETWORK_FILES):
        reason = f"{shown} is a connection to another machine"
    elif sign == ">" and not is_inside(paths, place):
        reason = f"{shown} lies outside the working folder"
    elif sign == ">" and (name := protected_name(paths, place)):
        reason = f"{shown} is protected ({name})"
    return Part(words, tuple(also), reason=reason)
