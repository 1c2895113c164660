"""Package tools with the builds they start: npm, pip, cargo, go."""

import re

from limnos.agent.shell.options import (
    CHANGES,
    ELSEWHERE,
    RUNS,
    SENDS,
    SETTINGS,
    WRITES,
    Call,
    Family,
    Options,
    Policy,
)
from limnos.agent.shell.policies.targets import first_is, no_operands, only_with, unseen, writes_all

FETCHES = "runs the build or install scripts of packages"
TALK = "quiet verbose color? no-color help version"


_SCOPED = re.compile(r"@[\w.-]+/[\w.-]+(@[\w.^~<>=*+-]+)?")


def package_names(call: Call, options: Options) -> str:
    """A package by its name only: an address or a folder runs its set-up."""
    for operand in options.operands:
        named = _SCOPED.fullmatch(operand)
        if not named and (any(sign in operand for sign in (":", "/", "\\")) or operand.startswith(".")):
            return f"takes {operand}, which is no plain name of a package"
    return unseen(call)


def _node_script(call: Call, options: Options) -> str:
    return (
        "passes flags on that are not known"
        if any(one.startswith("-") for one in options.operands)
        else unseen(call)
    )


NPM_RUN = Policy(
    "sw:",
    "silent if-present workspaces workspace: include-workspace-root quiet parallel recursive",
    (
        (
            "script-shell: node-options: scripts-prepend-node-path: shell: prefix: C: dir: "
            "userconfig: globalconfig:",
            RUNS,
        ),
        ("ignore-scripts", CHANGES),
    ),
    _node_script,
)
_NPM_READ = Policy(
    "gla", "json long parseable all depth: global prod production omit: include: link workspaces workspace:"
)
_NPM = Family(
    Policy(
        "svr",
        "silent quiet verbose version loglevel: no-color no-audit no-fund recursive",
        (("prefix: C: script-shell: node-options: userconfig: globalconfig: registry: dir: cwd:", RUNS),),
        stops=True,
    ),
    {
        "test": NPM_RUN,
        "t": NPM_RUN,
        "run": NPM_RUN,
        "run-script": NPM_RUN,
        "start": NPM_RUN,
        "stop": NPM_RUN,
        "restart": NPM_RUN,
        "build": NPM_RUN,
        "lint": NPM_RUN,
        "check": NPM_RUN,
        "typecheck": NPM_RUN,
        "ls": _NPM_READ,
        "list": _NPM_READ,
        "ll": _NPM_READ,
        "outdated": _NPM_READ,
        "view": _NPM_READ,
        "info": _NPM_READ,
        "show": _NPM_READ,
        "why": _NPM_READ,
        "explain": _NPM_READ,
        "root": _NPM_READ,
        "bin": _NPM_READ,
        "prefix": _NPM_READ,
        "ping": _NPM_READ,
        "whoami": _NPM_READ,
        "doctor": _NPM_READ,
        "help": _NPM_READ,
        "search": _NPM_READ,
        "fund": _NPM_READ,
        "query": _NPM_READ,
        "licenses": _NPM_READ,
        "version": Policy("", "json", operands=no_operands),
        "audit": Policy("", "json audit-level: omit: production prod", operands=first_is("signatures")),
        "config": Policy("l", "json long", operands=first_is("get", "list", "ls")),
        "pkg": Policy("", "json", operands=first_is("get", bare=False)),
        "cache": Policy("", "", operands=first_is("ls", "verify", "dir", bare=False)),
        "pack": Policy("", "dry-run json", operands=only_with(WRITES, "--dry-run")),
        "install": Policy(
            "DEOSP",
            "save save-dev save-exact save-optional save-prod no-save ignore-scripts no-audit "
            "no-fund omit: include: legacy-peer-deps production prefer-offline offline "
            "frozen-lockfile package-lock-only dry-run",
            (
                (
                    "registry: userconfig: force f node-options: script-shell: prefix: "
                    "foreground-scripts g global",
                    SETTINGS,
                ),
            ),
            package_names,
        ),
        "ci": Policy(
            "",
            "ignore-scripts no-audit no-fund omit: include: prefer-offline offline legacy-peer-deps",
            (("registry: script-shell:", SETTINGS),),
            no_operands,
        ),
        "uninstall": Policy("DS", "save save-dev no-save", (("g global", SETTINGS),), package_names),
        "prune": Policy("", "production omit: dry-run json"),
        "dedupe": Policy("", "dry-run json"),
    },
)
_NPM.subs.update(
    {
        "i": _NPM.subs["install"],
        "add": _NPM.subs["install"],
        "remove": _NPM.subs["uninstall"],
        "rm": _NPM.subs["uninstall"],
    }
)
_PIP_TALK = (
    "quiet verbose help no-color disable-pip-version-check no-input no-cache-dir "
    "timeout: retries: progress-bar: isolated"
)
PIP_SOURCES = (
    (
        "i: index-url: extra-index-url: f: find-links: no-index trusted-host: proxy: cert: "
        "client-cert: keyring-provider:",
        "takes packages from another place",
    ),
    (
        "e: editable: no-binary: global-option: config-settings: C: build-option: "
        "install-option: no-build-isolation use-pep517 src: python: prefer-binary",
        FETCHES,
    ),
    ("r: requirement: c: constraint:", "takes names from a file that nobody saw"),
    ("t: target: prefix: root: d: dest: w: wheel-dir: log: report: cache-dir:", WRITES),
    ("break-system-packages user force-reinstall U upgrade", CHANGES),
)
_PIP = Family(
    Policy(
        "qvhV",
        _PIP_TALK + " version",
        (*PIP_SOURCES[:1], ("python: log: cache-dir: require-virtualenv", ELSEWHERE)),
        stops=True,
    ),
    {
        "list": Policy(
            "qvoleh",
            _PIP_TALK + " outdated uptodate local user format: not-required exclude-editable "
            "include-editable exclude: pre",
            PIP_SOURCES[:1],
        ),
        "show": Policy("fqvh", _PIP_TALK + " files"),
        "freeze": Policy("lqvh", _PIP_TALK + " local user all exclude-editable exclude:"),
        "check": Policy("qvh", _PIP_TALK),
        "help": Policy(),
        "debug": Policy("qv", _PIP_TALK),
        "inspect": Policy("", "local user"),
        "index": Policy("", "pre json", PIP_SOURCES[:1]),
        "cache": Policy("", "format:", operands=first_is("dir", "info", "list", bare=False)),
        "config": Policy("", "user global site", operands=first_is("list", "get", "debug", bare=False)),
        "install": Policy("qv", _PIP_TALK + " only-binary: no-deps pre dry-run", PIP_SOURCES, package_names),
        "download": Policy(
            "qv",
            _PIP_TALK + " only-binary: no-deps pre platform: python-version: abi: implementation:",
            PIP_SOURCES,
            package_names,
        ),
        "uninstall": Policy("yqv", _PIP_TALK + " yes", PIP_SOURCES, package_names),
    },
)
_CARGO_BUILD = Policy(
    "qvp:F:j:rh",
    TALK + " package: workspace all exclude: lib bin: bins example: examples test: tests "
    "bench: benches "
    "all-targets features: all-features no-default-features release profile: jobs: "
    "keep-going target: locked offline frozen "
    "message-format: no-run no-fail-fast doc ignore-rust-version timings open no-deps "
    "document-private-items allow-dirty nocapture test-threads:",
    (("config: Z: target-dir: artifact-dir: out-dir: manifest-path: C:", SETTINGS), ("fix", CHANGES)),
)
_CARGO = Family(
    Policy("qvV", TALK + " list locked offline frozen explain:", (("config: Z: C:", SETTINGS),), stops=True),
    dict.fromkeys(
        ("build", "b", "check", "c", "test", "t", "bench", "clippy", "doc", "d", "nextest"), _CARGO_BUILD
    )
    | {
        "fmt": Policy(
            "qvp:", TALK + " check all package: message-format:", (("config: manifest-path:", SETTINGS),)
        ),
        "tree": Policy(
            "e:p:i:d",
            TALK + " edges: package: invert: depth: prefix: duplicates format: features: all-features "
            "no-default-features workspace target: charset: no-dedupe",
        ),
        "metadata": Policy(
            "q", TALK + " no-deps format-version: features: all-features offline locked filter-platform:"
        ),
        "search": Policy("q", TALK + " limit:"),
        "pkgid": Policy(),
        "version": Policy("v"),
        "help": Policy(),
        "locate-project": Policy(),
        "verify-project": Policy(),
        "fetch": Policy("qv", TALK + " locked offline target:"),
        "info": Policy("q", TALK),
        "outdated": Policy("", TALK),
        "audit": Policy("q", TALK),
        "deny": Policy("", TALK),
        "run": "runs the program that was built",
        "r": "runs the program that was built",
        "install": FETCHES,
        "publish": SENDS,
        "login": SENDS,
        "add": Policy(
            "qvF:",
            TALK + " dev build features: no-default-features optional rename: package: dry-run",
            operands=package_names,
        ),
        "update": Policy("qvp:", TALK + " package: precise: dry-run workspace recursive"),
        "clean": Policy("qvp:r", TALK + " package: release doc dry-run profile:"),
        "new": Policy("q", TALK + " lib bin name: edition: vcs:", operands=writes_all),
    },
)
_GO_BUILD = Policy(
    "vnxai",
    "race msan asan cover covermode: coverpkg: tags: trimpath p: buildvcs: count: run: "
    "bench: benchmem benchtime: short timeout: parallel: "
    "failfast json list: shuffle: skip: cpu: fullpath mod: work asmflags: gcflags: "
    "buildmode: compiler: installsuffix: all",
    (
        ("toolexec: exec: vettool: modfile: overlay: pkgdir: C: ldflags: gccgoflags: pgo:", RUNS),
        ("o: coverprofile: cpuprofile: memprofile: blockprofile: mutexprofile: trace: outputdir: c", WRITES),
    ),
    dashes="one",
)
_GO = Family(
    Policy("", "", (("C:", ELSEWHERE),), stops=True, dashes="one"),
    {
        "build": _GO_BUILD,
        "test": _GO_BUILD,
        "vet": _GO_BUILD,
        "list": Policy(
            "",
            _GO_BUILD.longs + " m u f: json deps test e versions find export compiled retracted v",
            (("toolexec: modfile: overlay:", RUNS),),
            dashes="one",
        ),
        "version": Policy("", "m v", dashes="one"),
        "env": Policy("", "json changed", (("w u", CHANGES),), dashes="one"),
        "doc": Policy("", "all c cmd short src u", dashes="one"),
        "fmt": Policy("", "n x mod:", dashes="one"),
        "help": Policy(),
        "mod": Policy(
            "",
            "v json x e go: compat:",
            operands=first_is("tidy", "download", "verify", "graph", "why", "vendor", bare=False),
            dashes="one",
        ),
        "work": Policy("", "", operands=first_is("sync", bare=False), dashes="one"),
        "clean": Policy("", "n cache testcache", (("modcache fuzzcache i r x", CHANGES),), dashes="one"),
        "get": Policy("", "u t v d x", (("insecure toolexec:", RUNS),), dashes="one"),
        "tool": "runs a program",
        "run": "builds and runs a program",
        "generate": "runs the commands that stand in the sources",
        "install": FETCHES,
    },
)

FAMILIES: dict[str, Family] = {
    "npm": _NPM,
    "pnpm": _NPM,
    "yarn": _NPM._replace(alone=FETCHES),
    "pip": _PIP,
    "pip3": _PIP,
    "cargo": _CARGO,
    "go": _GO,
}
