"""Programs that run other programs: where the wrapped command stands in their words."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from limnos.agent.shell.options import UNSEEN_WORDS, Call, Options, read_options
from limnos.agent.shell.policies.builtins import ALWAYS
from limnos.agent.shell.policies.find import read_search
from limnos.agent.shell.policies.judging import part_reason
from limnos.agent.shell.policies.unsafe import REASONS, is_shell
from limnos.agent.shell.wrapper_tables import (
    ENV,
    FLOCK,
    RUN_FLAGS,
    RUN_SUBCOMMANDS,
    SHELL,
    TWO_WORDS,
    WRAPPERS,
    XARGS,
    Wrapper,
)


class Inner(NamedTuple):
    """A command inside another one: the words from `first` to `last`, or a `line` that a shell reads.

    `unseen`: what is added to the words. `operands` are `$0`, `$1`, … of a line.
    """

    first: int = 0
    last: int = 0
    line: str | None = None
    unseen: Literal["", "paths", "words"] = ""
    operands: tuple[str, ...] = ()


class Unwrapped(NamedTuple):
    """What a wrapper runs, and why the wrapper itself is more than a wrapper ("" when it is not).

    `by_policy`: the table of its flags says why, not `fault`.
    """

    inner: tuple[Inner, ...]
    fault: str = ""
    by_policy: bool = False


def unwrap(call: Call) -> Unwrapped | None:
    """The commands inside `call`; None when it is no wrapper."""
    found = _unwrapped(call)
    if found is not None and call.unseen == "words" and not (found.inner or found.by_policy or found.fault):
        return found._replace(fault=f"runs what it gets; it {UNSEEN_WORDS}")
    return found


def reason_of(call: Call, unwrapped: Unwrapped | None) -> str:
    """Why `call`, which `unwrap` has looked at, does more than its program is for: a sentence or ""."""
    if unwrapped is None or unwrapped.by_policy:
        return part_reason(call)
    return f"{call.name} {unwrapped.fault}" if unwrapped.fault else ""


def _unwrapped(call: Call) -> Unwrapped | None:
    if call.name[:1] == "g" and call.name[1:] in _GNU:
        call = call._replace(name=call.name[1:])
    if call.name in _SPECIAL:
        return _SPECIAL[call.name](call)
    if is_shell(call.name):
        return _shell(call)
    if call.name in WRAPPERS:
        return _ordinary(call, WRAPPERS[call.name])
    if call.name in RUN_SUBCOMMANDS and call.name != "git":
        return _subcommand(call)
    return None


def _ordinary(call: Call, wrapper: Wrapper) -> Unwrapped:
    if call.args in (("--version",), ("--help",), ("-V",)) and call.name not in ALWAYS:
        return Unwrapped(())
    options = read_options(wrapper.policy, call.args)
    fault = options.faults[0] if options.faults else ""
    fault = REASONS.get(call.name, "") or ALWAYS.get(call.name, "") or fault
    inner = [Inner(line=line) for flag in wrapper.lines for line in options.values.get(flag, [])]
    if call.name == "command" and options.values.keys() & {"-v", "-V"}:
        return Unwrapped(())
    if call.name in ("ionice", "chrt", "taskset", "prlimit") and options.values.keys() & {"-p", "--pid"}:
        return Unwrapped((), "changes another process")
    if wrapper.joined:
        words = options.operands[wrapper.skip :]
        if call.name == "hyperfine":
            return Unwrapped((*inner, *(Inner(line=word) for word in words)), fault)
        if call.name == "watch" and options.values.keys() & {"-x", "--exec"}:
            return Unwrapped(_words(call, options, 0), fault)
        return Unwrapped((Inner(line=" ".join(words)),) if words else (), fault)
    if call.name in ("su", "script") or (wrapper.lines and inner):
        return Unwrapped(tuple(inner), fault or "runs a line in a terminal of its own")
    return Unwrapped((*inner, *_words(call, options, wrapper.skip)), fault)


def _words(call: Call, options: Options, skip: int) -> tuple[Inner, ...]:
    """The command behind the flags. A flag that is not known may have a value: then both readings."""
    first = options.behind + skip
    starts = [*range(first, first + (2 if options.faults else 1))]
    if call.name == "setarch":  # the name of the machine may be left out
        starts.append(first - 1)
    elif call.args[first : first + 1] and call.args[first].startswith("-"):
        plain = next((at for at in range(first, len(call.args)) if call.args[at][:1] != "-"), first)
        starts = [plain, plain + 1]
    return tuple(
        Inner(start, len(call.args)) for start in _behind_settings(call, starts) if start < len(call.args)
    )


def _behind_settings(call: Call, starts: Sequence[int]) -> list[int]:
    """sudo and env take `NAME=value` before the command."""
    found: list[int] = []
    for start in starts:
        place = start
        while call.name in ("sudo", "env", "doas") and place < len(call.args) and "=" in call.args[place]:
            place += 1
        found.append(place)
    return found


def _env(call: Call) -> Unwrapped:
    options = read_options(ENV, call.args)
    if options.operands[:1] == ("-",):  # an old spelling of -i
        lone = options.behind
        call = call._replace(args=(*call.args[:lone], "-i", *call.args[lone + 1 :]))
        options = read_options(ENV, call.args)
    fault = options.faults[0] if options.faults else ""
    splits = options.values.get("-S", []) + options.values.get("--split-string", [])
    if any(options.values.keys() & {"-C", "-P", "--chdir"}):
        fault = "runs a program in another folder"
    inner = _words(call, options, 0)
    if inner and inner[0].first > options.behind:
        fault = f"sets {call.args[options.behind]}, which can change what a program does"
    elif not inner and options.operands:
        fault = fault or f"sets {options.operands[0]}"
    if not splits:
        return Unwrapped(inner, fault)
    line = " ".join([*splits, *options.operands])
    return Unwrapped((Inner(line=line), *inner), "splits a word into a command")


def _xargs(call: Call) -> Unwrapped:
    options = read_options(XARGS, call.args)
    fault = options.faults[0] if options.faults else ""
    if "-a" in options.values:
        fault = "takes its words from a file that nobody saw"
    return Unwrapped(tuple(one._replace(unseen="words") for one in _words(call, options, 0)), fault)


def _find(call: Call) -> Unwrapped:
    search = read_search(call.args)
    inner = tuple(Inner(first, last, unseen="paths") for first, last in search.commands)
    return Unwrapped(inner, "gets words that nobody saw" if call.unseen else search.fault)


def _fd(call: Call) -> Unwrapped:
    for place, word in enumerate(call.args):
        if word in ("-x", "-X", "--exec", "--exec-batch"):
            return Unwrapped((Inner(place + 1, len(call.args), unseen="paths"),), f"runs a program ({word})")
    return Unwrapped((), by_policy=True)


def _flock(call: Call) -> Unwrapped:
    options = read_options(FLOCK, call.args)
    rest = options.operands[1:]
    fault = options.faults[0] if options.faults else ""
    if rest and rest[0] in ("-c", "--command"):
        return Unwrapped((Inner(line=" ".join(rest[1:2])),), fault)
    return Unwrapped(_words(call, options, 1), fault)


def _parallel(call: Call) -> Unwrapped:
    mark = next((place for place, word in enumerate(call.args) if word.startswith(":::")), len(call.args))
    place = next((place for place, word in enumerate(call.args[:mark]) if not word.startswith("-")), mark)
    template = " ".join(call.args[place:mark])
    values = call.args[mark + 1 : mark + 9] or ("",)
    lines = [
        Inner(line=template.replace("{}", one) if "{}" in template else f"{template} {one}") for one in values
    ]
    words = (Inner(place, mark, unseen="words"),) if place < mark else ()
    return Unwrapped((*words, *lines), "runs its words as lines of a shell")


_POSIX = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "rbash"})
_ONLY_BASH = ("&>", "|&", ">&", "$'", '$"')


def _shell(call: Call) -> Unwrapped:
    options = read_options(SHELL, call.args)
    fault = options.faults[0] if options.faults else ""
    if call.name not in _POSIX:
        fault = fault or "reads its lines in another way than bash"
    if "-c" in options.values:
        if not options.operands:
            return Unwrapped((), fault or "has no command")
        if call.unseen:
            fault = "runs a line with words that nobody saw"
        if call.name != "bash" and any(sign in options.operands[0] for sign in _ONLY_BASH):
            fault = fault or "may read its line in another way than bash"
        line, *operands = options.operands
        return Unwrapped((Inner(line=line, operands=tuple(operands)),), fault)
    if options.values.keys() & {"--version", "--help"} and not options.operands:
        return Unwrapped((), fault)
    if options.operands and "-s" not in options.values:
        return Unwrapped((), f"runs the file {options.operands[0]}")
    return Unwrapped((), "runs the commands that it reads")


def _subcommand(call: Call) -> Unwrapped | None:
    place = next((place for place, word in enumerate(call.args) if not word.startswith("-")), len(call.args))
    if call.name in ("docker", "podman") and call.args[place : place + 1] in (("compose",), ("container",)):
        place += 1
    if place >= len(call.args) or call.args[place] not in RUN_SUBCOMMANDS[call.name]:
        return None
    rest = call._replace(args=call.args[place + 1 :])
    options = read_options(RUN_FLAGS, rest.args)
    lines = tuple(Inner(line=line) for line in options.values.get("-c", []) if " " in line)
    dashes = next((at for at, word in enumerate(rest.args) if word == "--"), None)
    first = dashes + 1 if dashes is not None else options.behind + (call.name in TWO_WORDS)
    inner = Inner(place + 1 + first, len(call.args))
    return Unwrapped((*lines, *((inner,) if inner.first < len(call.args) else ())), by_policy=True)


_GNU = frozenset({"timeout", "nice", "env", "xargs", "find", "stdbuf", "nohup"})
_SPECIAL = {
    "env": _env,
    "xargs": _xargs,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "flock": _flock,
    "parallel": _parallel,
}
