"""Programs that run what they are given: shells, interpreters, commands of the shell."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from limnos.agent.shell.code import runs_its_input
from limnos.agent.shell.options import Call
from limnos.agent.shell.place import UNKNOWN
from limnos.agent.shell.policies.awk import awk_fault
from limnos.agent.shell.policies.sed import sed_fault
from limnos.agent.shell.policies.unsafe import is_interpreter, is_shell
from limnos.agent.shell.record import Argument, Scope
from limnos.agent.shell.refusal import refuse
from limnos.kernel.messages import ToolError

_RUN_WORDS = frozenset({"eval", "source", ".", "trap"})
_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_NEED_A_PROGRAM = frozenset({"awk", "gawk", "mawk", "nawk", "java", "v", "R"})
_GIVES_PROGRAM = frozenset("cemErpn")
_SAYS_SO = frozenset({"--eval", "--print", "--version", "--help"})
_LATER = frozenset({"at", "batch", "crontab", "parallel"})
_TIMES = re.compile(r"(?m)^\s*(?:@\w+|(?:[\d*/,A-Za-z-]+\s+){5})")
_CONNECTS = frozenset({"nc", "ncat", "netcat", "socat"})
_NETWORK_FILES = ("/dev/tcp/", "/dev/udp/")
_GIVES_SHELL = re.compile(r"(?i)(exec|system):")
_LANGUAGES = {"awk": awk_fault, "gawk": awk_fault, "mawk": awk_fault, "sed": sed_fault, "gsed": sed_fault}
_RUNNING = ("runs a command", "prints into a command")


class Fed(NamedTuple):
    """What becomes of what a command is given: a denial, a reason to ask, a `line` that a shell reads,
    or `code` that an interpreter reads."""

    denied: ToolError | None = None
    asks: str = ""
    line: str = ""
    code: str = ""


NOTHING = Fed()


def fed(call: Call, arguments: Sequence[Argument], scope: Scope) -> Fed:
    """Look at what comes into `call` from elsewhere, as words or as input."""
    if _runs_foreign_text(call, arguments, scope):
        return Fed(foreign_code(call.name))
    if not scope.input.piped or not _is_fed(call, scope):
        return NOTHING
    text = " ".join(scope.input.words)
    asks = f"{call.name} runs what it is fed"
    if scope.input.foreign:
        return Fed(foreign_code(call.name), asks)
    if is_interpreter(call.name):
        return Fed(None, asks, code=text)
    return Fed(None, asks, _TIMES.sub("", text) if call.name == "crontab" else text)


def _runs_foreign_text(call: Call, arguments: Sequence[Argument], scope: Scope) -> bool:
    if arguments[0].foreign or (runs_what_it_gets(call.name) and code_from_outside(call, arguments)):
        return True
    if scope.input.foreign and (call.name == UNKNOWN or _runs_foreign_input(call)):
        return True
    return call.name in _CONNECTS and _hands_shell_out(call)


def is_network_file(path: str) -> bool:
    """Whether a redirection to `path` opens a connection."""
    return path.startswith(_NETWORK_FILES)


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


def _is_fed(call: Call, scope: Scope) -> bool:
    if runs_what_it_gets(call.name):
        return takes_program_from_input(call, scope)
    return _takes_lines(call)


def _takes_lines(call: Call) -> bool:
    """`at`, `crontab -`, `su`, `sudo -s`, `make -f -`: their input is commands."""
    operands = [word for word in call.args if not word.startswith("-")]
    if call.name in _LATER:
        return call.name != "crontab" or (not operands and "-l" not in call.args)
    if call.name == "su":
        return not any(word.startswith(("-c", "--command")) for word in call.args)
    if call.name in ("sudo", "doas"):
        return not operands and bool({"-s", "-i", "--shell", "--login"} & set(call.args))
    return call.name in ("make", "gmake") and "-" in call.args


def _runs_foreign_input(call: Call) -> bool:
    """A program in the words that runs what it reads: `exec(sys.stdin.read())`, `awk '{system($0)}'`."""
    if call.name in _LANGUAGES:
        return _LANGUAGES[call.name](call).endswith(_RUNNING)
    return runs_its_input(call)


def _hands_shell_out(call: Call) -> bool:
    """A connection that another machine gets a shell on."""
    if call.name != "socat":
        clusters = [word for word in call.args if word.startswith("-") and not word.startswith("--")]
        flags = ("--exec", "--sh-exec", "--lua-exec")
        return any("e" in word for word in clusters) or any(word.startswith(flags) for word in call.args)
    return any(_GIVES_SHELL.match(word) for word in call.args)


def takes_program_from_input(call: Call, scope: Scope) -> bool:
    """Whether what is run comes in unseen: by the standard input, by xargs, by a variable that was read."""
    if scope.unseen == "words" or (call.name in _RUN_WORDS and UNKNOWN in "".join(call.args)):
        return True
    if call.name in _RUN_WORDS:
        return bool(call.args) and call.args[0] in _STANDARD_INPUT
    flags = [word for word in call.args if word.startswith("-") and len(word) > 1]
    operands = [word for word in call.args if not word.startswith("-") or word == "-"]
    if call.name in ("deno", "bun") and operands[:1] == ["run"]:
        operands = operands[1:]
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
        f"text from another machine would run in {name or 'a program'} without anybody having seen it",
        "download it to a file, read it, then ask to run the file",
    )
