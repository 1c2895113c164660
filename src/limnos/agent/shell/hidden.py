"""Command lines that stand inside words of other programs: settings, scripts, strings of a language.

What is found here is no part that a rule could be compared with; it is only looked at for hard denials.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from limnos.agent.shell.options import Call, read_options
from limnos.agent.shell.policies.sed import POLICY as SED
from limnos.agent.shell.policies.sed import scripts_of
from limnos.agent.shell.policies.unsafe import REASONS, is_interpreter

_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|`([^`]*)`")
_ESCAPE = re.compile(
    r"[:+]!(.+)|(?:^|\n|\\n)!(.+?)(?:\\n|\n|$)|\\!\s*(.+)|^\.(?:shell|system)\s+(.+)", re.DOTALL
)
_RUN_CALL = re.compile(
    r"\b(?:system|exec\w*|popen\w*|run|call|check_\w+|spawn\w*|Popen|shell_exec|passthru|execute)\b"
    r"[\s(\[{]*((?:[\"'][^\"'\n]*[\"'][\s,)\[\]}]*){1,12})"
)
_COMMAND_SETTING = re.compile(r"(?i)(?:proxy|local|remote|knownhosts)command[= ](.+)")
_RUN_WORD = re.compile(r"^(?:shell|spawn|system|!)\s+([^\n;]+)")
_SED_RUN = re.compile(r"(?:^|[;\n}\d$/])\s*e\s+([^\n]+)")
_GIT_VALUES = frozenset(
    {"-c", "--config-env", "-x", "--exec", "-O", "--extcmd", "--upload-pack", "--receive-pack"}
)
_GIT_RUNNING = ("--upload-pack=", "--receive-pack=", "--extcmd=", "--open-files-in-pager=")
_RUNNING_LONG = re.compile(
    r"--?[a-z-]*(exec|cmd|command|action|filter|program|shell|script|pre|hook|rsh|pager|eval|path)"
)
_RUNNING_SHORTS = {
    "tar": ("-I", "-F"),
    "zip": ("-TT",),
    "rsync": ("-e",),
    "scp": ("-S",),
    "man": ("-P", "-H"),
    "split": ("--filter",),
    "tcpdump": ("-z",),
    "npm": ("-c",),
    "nix-shell": ("--run",),
    "screen": ("-X",),
}
_PLAIN_TEXT = frozenset({"echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "cat", "test", "["})


class Hidden(NamedTuple):
    """A line; `certain`: it is there to run, `likely`: where a line to run stands, else only text."""

    line: str
    certain: bool = False
    likely: bool = True


def hidden_lines(call: Call) -> Iterator[Hidden]:
    """The lines that `call` may hand to a shell."""
    certain = call.name in ("trap", "mapfile", "readarray") or (call.name == "git" and _git_runs(call))
    if call.name in _PLAIN_TEXT:
        return
    for line in _lines(call):
        yield Hidden(line, certain)
    if is_interpreter(call.name):
        yield from (Hidden(found, likely=False) for word in call.args for found in _strings(word))


def _git_runs(call: Call) -> bool:
    words = set(call.args)
    runs = {"rebase", "foreach", "bisect", "difftool"} & words
    return bool(runs) or any(word.partition("=")[2].startswith("!") for word in words)


def _lines(call: Call) -> Iterator[str]:
    if call.name in _OF_PROGRAM:
        yield from _OF_PROGRAM[call.name](call)
    elif is_interpreter(call.name):
        yield from (found for word in call.args for found in _called(word))
    elif call.name in REASONS:
        yield from (found for word in call.args for found in _escapes(word))
        yield from _flag_values(call)
    else:
        yield from _flag_values(call)


def _trap(call: Call) -> Iterator[str]:
    yield from call.args[:1]


def _set_values(call: Call) -> Iterator[str]:
    yield from (word.partition("=")[2] for word in call.args if "=" in word)


def _callbacks(call: Call) -> Iterator[str]:
    yield from _values(call, ("-C", "-F", "-W"))


def _sed(call: Call) -> Iterator[str]:
    for script in scripts_of(read_options(SED, call.args)):
        yield from (match.group(1) for match in _SED_RUN.finditer(script))


def _git(call: Call) -> Iterator[str]:
    for place, word in enumerate(call.args):
        if word in _GIT_VALUES and place + 1 < len(call.args):
            value = call.args[place + 1]
            yield (value.partition("=")[2] if word == "-c" else value).removeprefix("!")
        elif "=" in word and (_RUNNING_LONG.match(word) or word.startswith(_GIT_RUNNING)):
            yield word.partition("=")[2]
        elif word in ("foreach", "run") and {"submodule", "bisect"} & set(call.args[:place]):
            yield " ".join(one for one in call.args[place + 1 :] if not one.startswith("--"))
        elif word.startswith("ext::"):
            yield word.removeprefix("ext::")
    if "config" in call.args[:3]:
        yield call.args[-1].removeprefix("!")


def _values(call: Call, flags: tuple[str, ...]) -> Iterator[str]:
    for place, word in enumerate(call.args[:-1]):
        if word in flags:
            yield call.args[place + 1]


def _flag_values(call: Call) -> Iterator[str]:
    """`--checkpoint-action=exec=…`, `--filter 'rm …'`, `-e …`, `SHELL=…`: values that are lines."""
    shorts = _RUNNING_SHORTS.get(call.name, ())
    for place, word in enumerate(call.args):
        name, equals, value = word.partition("=")
        if equals and (_RUNNING_LONG.match(name) or (call.name in ("make", "gmake") and name[:1] != "-")):
            yield value.removeprefix("exec=")
        elif (word in shorts or _RUNNING_LONG.match(word)) and place + 1 < len(call.args):
            yield call.args[place + 1]


def _strings(text: str) -> Iterator[str]:
    """String literals of a program, outermost and one level inside."""
    for match in _STRING.finditer(text[:20_000]):
        found = next(group for group in match.groups() if group is not None)
        if " " in found or "/" in found:
            yield found.replace('\\"', '"').replace("\\'", "'")


def _called(text: str) -> Iterator[str]:
    """`run(["rm", "-rf", "x"])`, `system("reboot")`, `shell rm x`: a program and its words."""
    text = text[:20_000]
    for match in _RUN_CALL.finditer(text):
        literals = re.findall(r"[\"']([^\"']*)[\"']", match.group(1))
        yield " ".join(literals[:12])
    for match in _RUN_WORD.finditer(text):
        yield match.group(1)


def _all_escapes(call: Call) -> Iterator[str]:
    yield from (found for word in call.args for found in _escapes(word))


def _words_as_lines(call: Call) -> Iterator[str]:
    yield from (word for word in call.args if " " in word)


def _started(call: Call) -> Iterator[str]:
    """`start-stop-daemon --exec PROGRAM -- WORDS`."""
    programs = _values(call, ("--exec", "-x", "--startas", "-a"))
    rest = call.args[call.args.index("--") + 1 :] if "--" in call.args else ()
    yield from (" ".join([program, *rest]) for program in programs)


def _escapes(text: str) -> Iterator[str]:
    for match in _ESCAPE.finditer(text[:20_000]):
        yield next(group for group in match.groups() if group is not None)
    yield from _COMMAND_SETTING.findall(text[:20_000])
    yield from _strings(text)


_OF_PROGRAM: dict[str, Callable[[Call], Iterator[str]]] = {
    "git": _git,
    "trap": _trap,
    "sed": _sed,
    "gsed": _sed,
    **dict.fromkeys(("tmux", "screen", "xterm", "entr"), _words_as_lines),
    "start-stop-daemon": _started,
    "sqlite3": _all_escapes,
    **dict.fromkeys(("env", "alias", "export", "declare", "typeset", "readonly", "local"), _set_values),
    **dict.fromkeys(("mapfile", "readarray", "complete", "compgen"), _callbacks),
}
