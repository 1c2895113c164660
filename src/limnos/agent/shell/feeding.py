"""Programs that run what they are given: shells, interpreters, commands of the shell."""

from collections.abc import Sequence

from limnos.agent.shell.hard import refuse
from limnos.agent.shell.options import Call
from limnos.agent.shell.place import UNKNOWN
from limnos.agent.shell.policies.unsafe import is_interpreter, is_shell
from limnos.agent.shell.record import Argument, Scope
from limnos.kernel.messages import ToolError

_RUN_WORDS = frozenset({"eval", "source", ".", "trap"})
_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_NEED_A_PROGRAM = frozenset({"awk", "gawk", "mawk", "nawk", "java", "v", "R"})
_GIVES_PROGRAM = frozenset("cemErpn")
_SAYS_SO = frozenset({"--eval", "--print", "--version", "--help"})


def runs_what_it_gets(name: str) -> bool:
    """Whether `name` takes programs as words or as input."""
    return is_shell(name) or is_interpreter(name) or name in _RUN_WORDS


def code_from_outside(call: Call, arguments: Sequence[Argument]) -> bool:
    """Whether another machine wrote a word that is run: all words of eval, the first of a shell."""
    for one in arguments[1:]:
        if one.foreign:
            return True
        if call.name not in _RUN_WORDS and not one.guess.startswith("-"):
            return False
    return False


def takes_program_from_input(call: Call, scope: Scope) -> bool:
    """Whether what is run comes in unseen: by the standard input, by xargs, by a variable that was read."""
    if scope.unseen == "words" or (call.name in _RUN_WORDS and UNKNOWN in "".join(call.args)):
        return True
    if call.name in _RUN_WORDS:
        return bool(call.args) and call.args[0] in _STANDARD_INPUT
    flags = [word for word in call.args if word.startswith("-") and len(word) > 1]
    operands = [word for word in call.args if not word.startswith("-") or word == "-"]
    from_input = not operands or operands[0] in _STANDARD_INPUT
    if is_shell(call.name):
        letters = "".join(word[1:] for word in flags if not word.startswith("--"))
        return "c" not in letters and (from_input or "s" in letters)
    if call.name in _NEED_A_PROGRAM:
        return False
    return from_input and not any(word[1:2] in _GIVES_PROGRAM or word in _SAYS_SO for word in flags)


def foreign_code(name: str) -> ToolError:
    """The refusal."""
    return refuse(
        f"text from another machine would run in {name} without anybody having seen it",
        "download it to a file, read it, then ask to run the file",
    )
