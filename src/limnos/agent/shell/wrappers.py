"""Programs that run other programs: where the wrapped command stands in their words."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from limnos.agent.shell.options import ELSEWHERE, SETTINGS, WRITES, Call, Options, Policy, read_options
from limnos.agent.shell.policies.builtins import ALWAYS
from limnos.agent.shell.policies.find import read_search
from limnos.agent.shell.policies.unsafe import REASONS, is_shell


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


class _Wrapper(NamedTuple):
    policy: Policy
    skip: int = 0  # words between the flags and the command
    line: str = ""  # a flag whose value is a line
    joined: bool = False  # the words together are a line


def _plain(
    shorts: str = "", longs: str = "", skip: int = 0, asks: tuple[tuple[str, str], ...] = ()
) -> _Wrapper:
    return _Wrapper(Policy(shorts, longs + " help version", asks, numbers=True, stops=True), skip)


_ANY = _plain()
_WRAPPERS: dict[str, _Wrapper] = {
    "timeout": _plain("s:k:vfp", "signal: kill-after: foreground preserve-status verbose", 1),
    "nice": _plain("n:", "adjustment:"),
    "ionice": _plain("c:n:tp:P:u:", "class: classdata: ignore pid: pgid: uid:"),
    "chrt": _plain("bfiormavpRT:P:D:", "batch fifo idle other rr max pid verbose", 1),
    "taskset": _plain("apc", "all-tasks pid cpu-list", 1),
    "numactl": _plain(
        "C:m:N:i:lsHSp:", "cpunodebind: membind: physcpubind: interleave: localalloc show hardware preferred:"
    ),
    "prlimit": _plain(
        "", "nofile: cpu: as: nproc: core: data: fsize: memlock: stack: rss: pid: verbose raw noheadings"
    ),
    "stdbuf": _plain("i:o:e:", "input: output: error:"),
    "setsid": _plain("cfw", "ctty fork wait"),
    "nohup": _ANY,
    "time": _plain("pvqf:", "portability verbose quiet format:", 0, (("o: output: a append", WRITES),)),
    "command": _plain("pvV"),
    "builtin": _ANY,
    "exec": _plain("cla:"),
    "catchsegv": _ANY,
    "unbuffer": _plain("p"),
    "fakeroot": _plain("l:s:i:ub:"),
    "xvfb-run": _plain("ae:f:n:s:l", "auto-servernum server-args: server-num:"),
    "dbus-run-session": _ANY,
    "caffeinate": _plain("dimsut:w:"),
    "cgexec": _plain("g:", "sticky"),
    "setarch": _plain("vRBFILSTXZ3", "", 1),
    "linux32": _ANY,
    "linux64": _ANY,
    "rlwrap": _plain("acmpnNrRh"),
    "torsocks": _ANY,
    "torify": _ANY,
    "proxychains": _plain("qf:"),
    "proxychains4": _plain("qf:"),
    "busybox": _plain("", "list list-full install: show:"),
    "toybox": _plain("", "long"),
    "strace": _plain("fFqrtTvxyzZCcdke:o:O:s:p:P:S:u:E:a:b:I:X:U:", "", 0, (("output:", WRITES),)),
    "ltrace": _plain("fiLrStTCcbe:o:l:n:p:s:u:x:a:A:D:F:"),
    "valgrind": _plain("qvdh", "leak-check: tool: track-origins: log-file: error-exitcode: quiet"),
    "sudo": _plain(
        "AbEHiKkLnPSsVvBNu:g:h:p:U:C:D:R:r:T:t:",
        "user: group: host: prompt: preserve-env? login shell non-interactive stdin "
        "set-home background chdir: chroot: reset-timestamp askpass",
    ),
    "doas": _plain("Lnsu:C:"),
    "pkexec": _plain("", "user: disable-internal-agent"),
    "chroot": _plain("", "userspec: groups: skip-chdir", 1),
    "unshare": _plain(
        "mnpuiUCTrfcS:G:R:w:",
        "mount? net? pid? uts? ipc? user? cgroup? time? fork map-root-user "
        "map-current-user mount-proc? root: wd: setuid: setgid: kill-child?",
    ),
    "nsenter": _plain(
        "at:mnpuiUCTFrwS:G:Z",
        "all target: mount? net? pid? uts? ipc? user? cgroup? root? wd? no-fork "
        "preserve-credentials setuid: setgid:",
    ),
    "setpriv": _plain(
        "",
        "reuid: regid: groups: clear-groups keep-groups init-groups no-new-privs inh-caps: "
        "ambient-caps: bounding-set: reset-env",
    ),
    "systemd-run": _plain(
        "p:u:tPqrGdSHM:E:",
        "unit: property: user system scope pty pipe quiet wait collect same-dir uid: gid: "
        "nice: setenv: on-active: on-calendar: slice: description: working-directory: "
        "shell no-block remain-after-exit",
    ),
    "firejail": _plain("", "quiet noprofile profile: net: private"),
    "entr": _plain("acdnprsxz"),
    "npx": _plain("yq", "yes no quiet package: no-install ignore-existing"),
    "bunx": _plain("", "bun package:"),
    "uvx": _plain("q", "from: with: python: quiet"),
    "watchexec": _plain("e:w:i:crnq", "exts: watch: ignore: clear restart"),
    "nodemon": _plain("e:w:i:qx:", "ext: watch: ignore: exec: quiet"),
    "perf": _plain("", "", 1),
    "rr": _plain("", "", 1),
    "su": _Wrapper(
        Policy("c:lmpPs:g:G:w:", "command: login shell: session-command:", stops=False), line="-c"
    ),
    "runuser": _Wrapper(Policy("c:lmpPs:g:G:w:u:", "command: login shell: user:", stops=True), line="-c"),
    "script": _Wrapper(
        Policy("c:aefqt?B:I:O:T:E:m:o:", "command: append quiet flush return timing? force"), line="-c"
    ),
    "watch": _Wrapper(
        Policy(
            "n:dtebcgpqwrx",
            "interval: differences? no-title errexit beep color chgexit precise exec no-wrap "
            "no-rerun equexit: help version",
            stops=True,
        ),
        joined=True,
    ),
    "hyperfine": _Wrapper(
        Policy(
            "w:m:M:r:p:c:s:iNL:P:D:n:",
            "warmup: min-runs: max-runs: runs: prepare: cleanup: setup: conclude: "
            "ignore-failure shell: style: show-output",
        ),
        joined=True,
    ),
    "eval": _Wrapper(Policy(stops=True), joined=True),
    "ssh": _Wrapper(
        Policy("46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:", stops=True),
        1,
        joined=True,
    ),
    "nix-shell": _Wrapper(Policy("p:A:I:E:", "run: command: pure packages: argstr: arg:"), line="--run"),
}
_RUN_SUBCOMMANDS: dict[str, tuple[str, ...]] = {
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "pdm": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "pixi": ("run",),
    "conda": ("run",),
    "mamba": ("run",),
    "bundle": ("exec",),
    "npm": ("exec", "x"),
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx"),
    "mise": ("exec", "x"),
    "asdf": ("exec",),
    "pyenv": ("exec",),
    "rbenv": ("exec",),
    "direnv": ("exec",),
    "rustup": ("run",),
    "nix": ("run", "develop", "shell"),
    "docker": ("run", "exec"),
    "podman": ("run", "exec"),
    "nerdctl": ("run", "exec"),
    "docker-compose": ("run", "exec"),
    "kubectl": ("exec", "run", "debug"),
    "oc": ("exec", "rsh"),
    "git": ("bisect",),
}
_TWO_WORDS = {"direnv", "rustup", "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc"}
_RUN_FLAGS = Policy(
    "itdPqTn:e:v:u:w:p:c:h:l:m:",
    "rm interactive tty detach quiet name: env: env-file: volume: mount: user: "
    "workdir: publish: network: net: entrypoint: "
    "hostname: label: memory: cpus: platform: pull: privileged no-deps with: from: "
    "package: python: namespace: container: image: restart: stdin init",
    stops=True,
)
_ENV = Policy(
    "i0vu:C:S:P:",
    "ignore-environment null unset: debug list-signal-handling help version",
    (
        ("chdir:", ELSEWHERE),
        ("split-string: default-signal? ignore-signal? block-signal?", "splits a word into a command"),
    ),
    stops=True,
)
_XARGS = Policy(
    "0rtxopn:P:L:I:d:s:E:e?i?l?a:",
    "null no-run-if-empty verbose exit open-tty interactive max-args: max-procs: "
    "max-lines? replace? delimiter: max-chars: eof? show-limits process-slot-var: help "
    "version",
    (("arg-file:", "takes its words from a file that nobody saw"),),
    stops=True,
)
_FLOCK = Policy(
    "esxnuoFvw:E:",
    "exclusive shared unlock nonblock nb close no-fork verbose timeout: wait: "
    "conflict-exit-code: help version",
    stops=True,
)
_SHELL = Policy(
    "cexulvnfamhkptbBCEHPTo:O:s",
    "norc noprofile posix restricted verbose login noediting help version",
    (("rcfile: init-file:", SETTINGS), ("i", "reads start files")),
    stops=True,
)


def unwrap(call: Call) -> Unwrapped | None:
    """The commands inside `call`; None when it is no wrapper."""
    if call.name in _SPECIAL:
        return _SPECIAL[call.name](call)
    if is_shell(call.name):
        return _shell(call)
    if call.name in _WRAPPERS:
        return _ordinary(call, _WRAPPERS[call.name])
    if call.name in _RUN_SUBCOMMANDS and call.name != "git":
        return _subcommand(call)
    return None


def _ordinary(call: Call, wrapper: _Wrapper) -> Unwrapped:
    if call.args in (("--version",), ("--help",), ("-V",)) and call.name not in ALWAYS:
        return Unwrapped(())
    options = read_options(wrapper.policy, call.args)
    fault = options.faults[0] if options.faults else ""
    fault = REASONS.get(call.name, "") or ALWAYS.get(call.name, "") or fault
    inner = [Inner(line=line) for line in options.values.get(wrapper.line, [])]
    if call.name == "command" and options.values.keys() & {"-v", "-V"}:
        return Unwrapped(())
    if call.name in ("ionice", "chrt", "taskset", "prlimit") and options.values.keys() & {"-p", "--pid"}:
        return Unwrapped((), "changes another process")
    if wrapper.joined:
        words = options.operands[wrapper.skip :]
        if call.name == "hyperfine":
            return Unwrapped(tuple(Inner(line=word) for word in words), fault)
        if call.name == "watch" and options.values.keys() & {"-x", "--exec"}:
            return Unwrapped(_words(call, options, 0), fault)
        return Unwrapped((Inner(line=" ".join(words)),) if words else (), fault)
    if call.name in ("su", "script") or (wrapper.line and inner):
        return Unwrapped(tuple(inner), fault or "runs a line in a terminal of its own")
    return Unwrapped((*inner, *_words(call, options, wrapper.skip)), fault)


def _words(call: Call, options: Options, skip: int) -> tuple[Inner, ...]:
    """The command behind the flags. A flag that is not known may have a value: then both readings."""
    first = options.behind + skip
    starts = range(first, first + (2 if options.faults else 1))
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
    options = read_options(_ENV, call.args)
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
    options = read_options(_XARGS, call.args)
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
    options = read_options(_FLOCK, call.args)
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
    options = read_options(_SHELL, call.args)
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
    if place >= len(call.args) or call.args[place] not in _RUN_SUBCOMMANDS[call.name]:
        return None
    rest = call._replace(args=call.args[place + 1 :])
    options = read_options(_RUN_FLAGS, rest.args)
    lines = tuple(Inner(line=line) for line in options.values.get("-c", []) if " " in line)
    dashes = next((at for at, word in enumerate(rest.args) if word == "--"), None)
    first = dashes + 1 if dashes is not None else options.behind + (call.name in _TWO_WORDS)
    inner = Inner(place + 1 + first, len(call.args))
    return Unwrapped((*lines, *((inner,) if inner.first < len(call.args) else ())), by_policy=True)


_SPECIAL = {
    "env": _env,
    "xargs": _xargs,
    "find": _find,
    "fd": _fd,
    "fdfind": _fd,
    "flock": _flock,
    "parallel": _parallel,
}
