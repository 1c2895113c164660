"""Programs that run other programs: how each reads its words."""

from typing import NamedTuple

from limnos.agent.shell.options import ELSEWHERE, SETTINGS, WRITES, Policy


class Wrapper(NamedTuple):
    """How a program that runs another one reads its words."""

    policy: Policy
    skip: int = 0  # words between the flags and the command
    lines: tuple[str, ...] = ()  # flags whose values are lines
    joined: bool = False  # the words together are a line


def _plain(
    shorts: str = "", longs: str = "", skip: int = 0, asks: tuple[tuple[str, str], ...] = ()
) -> Wrapper:
    return Wrapper(Policy(shorts, longs + " help version", asks, numbers=True, stops=True), skip)


_ANY = _plain()
WRAPPERS: dict[str, Wrapper] = {
    "timeout": _plain("s:k:vfp", "signal: kill-after: foreground preserve-status verbose", 1),
    "nice": _plain("n:", "adjustment:"),
    "ionice": _plain("c:n:tp:P:u:", "class: classdata: ignore pid: pgid: uid:"),
    "chrt": _plain("bfiormavpRT:P:D:", "batch fifo idle other rr max pid verbose", 1),
    "taskset": _plain("apc", "all-tasks pid cpu-list", 1),
    "numactl": _plain(
        "C:m:N:i:lsHSp:", "cpunodebind: membind: physcpubind: interleave: localalloc show hardware preferred:"
    ),
    "prlimit": _plain(
        "c?d?e?f?i?l?m?n?q?r?s?t?u?v?x?y?p:o:",
        "nofile? cpu? as? nproc? core? data? fsize? memlock? stack? rss? nice? msgqueue? rtprio? rttime? "
        "sigpending? locks? pid: output: verbose raw noheadings",
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
    "fakeroot": _plain(
        "ub:h", "unknown-is-real fd-base:", 0, (("l: lib: faked: s: i:", "loads code or settings"),)
    ),
    "chronic": _plain("ev"),
    "eatmydata": _ANY,
    "run-one": _ANY,
    "annotate-output": _plain("h"),
    "systemd-inhibit": _plain("", "what: who: why: mode: list no-pager no-legend"),
    "cpulimit": _plain("l:p:e:vzikb", "limit: pid: exe: lazy verbose"),
    "trickle": _plain("hVvsd:u:w:t:l:n:p:P:"),
    "faketime": _plain("mpf", "exclude-monotonic", 1),
    "softlimit": _plain("a:c:d:f:l:m:o:p:r:s:t:"),
    "setlock": _plain("nNxX", "", 1),
    "envdir": _plain("", "", 1),
    "chpst": _plain("u:U:b:/:e:m:d:o:p:f:c:n:l:L:vP012"),
    "tini": _plain("p:svwgelh"),
    "dumb-init": _plain("crv", "single-child rewrite: verbose"),
    "gosu": _plain("", "", 1),
    "su-exec": _plain("", "", 1),
    "setuidgid": _plain("", "", 1),
    "dbus-launch": _plain("", "exit-with-session sh-syntax csh-syntax auto-syntax"),
    "ssh-agent": _plain("cksDda:E:O:P:t:"),
    "daemonize": _plain("avc:e:o:p:l:u:E:"),
    "xterm": _plain("e", "", 0),
    "screen": _plain("aADdmRrSsxLUOqe:c:f:h:t:T:p:S:"),
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
    "proxychains": _plain("q", "", 0, (("f:", SETTINGS),)),
    "proxychains4": _plain("q", "", 0, (("f:", SETTINGS),)),
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
    "nodemon": Wrapper(
        Policy("e:w:i:qx:", "ext: watch: ignore: exec: quiet", stops=True), lines=("-x", "--exec")
    ),
    "perf": _plain("", "", 1),
    "rr": _plain("", "", 1),
    "su": Wrapper(
        Policy("c:lmpPs:g:G:w:", "command: login shell: session-command:", stops=False),
        lines=("-c", "--command"),
    ),
    "runuser": Wrapper(
        Policy("c:lmpPs:g:G:w:u:", "command: login shell: user:", stops=True), lines=("-c", "--command")
    ),
    "script": Wrapper(
        Policy("c:aefqt?B:I:O:T:E:m:o:", "command: append quiet flush return timing? force"),
        lines=("-c", "--command"),
    ),
    "watch": Wrapper(
        Policy(
            "n:dtebcgpqwrx",
            "interval: differences? no-title errexit beep color chgexit precise exec no-wrap "
            "no-rerun equexit: help version",
            stops=True,
        ),
        joined=True,
    ),
    "hyperfine": Wrapper(
        Policy(
            "w:m:M:r:p:c:s:iNL:P:D:n:S:u:Cb",
            "warmup: min-runs: max-runs: runs: prepare: cleanup: setup: conclude: reference: "
            "ignore-failure? shell: style: show-output parameter-list: parameter-scan: command-name: "
            "time-unit: sort: help version",
            (("export-json: export-csv: export-markdown: export-asciidoc: export-orgmode:", WRITES),),
        ),
        lines=("-p", "--prepare", "-c", "--cleanup", "-s", "--setup", "-C", "--conclude", "--reference"),
        joined=True,
    ),
    "eval": Wrapper(Policy(stops=True), joined=True),
    "ssh": Wrapper(
        Policy("46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w:", stops=True),
        1,
        joined=True,
    ),
    "nix-shell": Wrapper(
        Policy("p:A:I:E:", "run: command: pure packages: argstr: arg:"), lines=("--run", "--command")
    ),
}
RUN_SUBCOMMANDS: dict[str, tuple[str, ...]] = {
    "uv": ("run",),
    "poetry": ("run",),
    "pipx": ("run",),
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
TWO_WORDS = {"direnv", "rustup", "docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc"}
RUN_FLAGS = Policy(
    "itdPqTn:e:v:u:w:p:c:h:l:m:",
    "rm interactive tty detach quiet name: env: env-file: volume: mount: user: "
    "workdir: publish: network: net: entrypoint: "
    "hostname: label: memory: cpus: platform: pull: privileged no-deps with: from: "
    "package: python: namespace: container: image: restart: stdin init",
    stops=True,
)
ENV = Policy(
    "i0vu:C:S:P:",
    "ignore-environment null unset: debug list-signal-handling help version",
    (
        ("chdir:", ELSEWHERE),
        ("split-string: default-signal? ignore-signal? block-signal?", "splits a word into a command"),
    ),
    stops=True,
)
XARGS = Policy(
    "0rtxopn:P:L:I:d:s:E:e?i?l?a:",
    "null no-run-if-empty verbose exit open-tty interactive max-args: max-procs: "
    "max-lines? replace? delimiter: max-chars: eof? show-limits process-slot-var: help "
    "version",
    (("arg-file:", "takes its words from a file that nobody saw"),),
    stops=True,
)
FLOCK = Policy(
    "esxnuoFvw:E:",
    "exclusive shared unlock nonblock nb close no-fork verbose timeout: wait: "
    "conflict-exit-code: help version",
    stops=True,
)
SHELL = Policy(
    "cexulvnfamhkptbBCEHPTo:O:s",
    "norc noprofile posix restricted verbose login noediting help version",
    (("rcfile: init-file:", SETTINGS), ("i", "reads start files")),
    stops=True,
)
