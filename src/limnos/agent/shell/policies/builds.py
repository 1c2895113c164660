"""Programs that build, test and check code, and the package tools around them."""

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
from limnos.agent.shell.policies.targets import first_is, no_assignments, no_operands, unseen, writes_all

_FETCHES = "runs the build or install scripts of packages"
_HELP = "help version"
_TALK = "quiet verbose color? no-color help version"


def _package(call: Call, options: Options) -> str:
    """A package by its name only: an address or a folder runs its set-up."""
    for operand in options.operands:
        if any(sign in operand for sign in (":", "/", "\\")) or operand.startswith("."):
            return f"takes {operand}, which is no plain name of a package"
    return unseen(call)


def _node_script(call: Call, options: Options) -> str:
    return (
        "passes flags on that are not known"
        if any(one.startswith("-") for one in options.operands)
        else unseen(call)
    )


_NPM_RUN = Policy(
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
        "sv",
        "silent quiet verbose version loglevel: no-color no-audit no-fund",
        (("prefix: C: script-shell: node-options: userconfig: globalconfig: registry: dir: cwd:", RUNS),),
        stops=True,
    ),
    {
        "test": _NPM_RUN,
        "t": _NPM_RUN,
        "run": _NPM_RUN,
        "run-script": _NPM_RUN,
        "start": _NPM_RUN,
        "stop": _NPM_RUN,
        "restart": _NPM_RUN,
        "build": _NPM_RUN,
        "lint": _NPM_RUN,
        "check": _NPM_RUN,
        "typecheck": _NPM_RUN,
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
        "pack": Policy(
            "", "dry-run json", operands=lambda call, options: "" if "--dry-run" in options.values else WRITES
        ),
        "install": Policy(
            "DEOSgP",
            "save save-dev save-exact save-optional save-prod no-save ignore-scripts no-audit "
            "no-fund omit: include: legacy-peer-deps production prefer-offline offline "
            "frozen-lockfile package-lock-only dry-run",
            (
                (
                    "registry: userconfig: force f node-options: script-shell: prefix: "
                    "foreground-scripts global",
                    SETTINGS,
                ),
            ),
            _package,
        ),
        "ci": Policy(
            "",
            "ignore-scripts no-audit no-fund omit: include: prefer-offline offline legacy-peer-deps",
            (("registry: script-shell:", SETTINGS),),
            no_operands,
        ),
        "uninstall": Policy("DSg", "save save-dev no-save", operands=_package),
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
_PIP_SOURCES = (
    (
        "i: index-url: extra-index-url: f: find-links: no-index trusted-host: proxy: cert: "
        "client-cert: keyring-provider:",
        "takes packages from another place",
    ),
    (
        "e: editable: no-binary: global-option: config-settings: C: build-option: "
        "install-option: no-build-isolation use-pep517 src: python: prefer-binary",
        _FETCHES,
    ),
    ("r: requirement: c: constraint:", "takes names from a file that nobody saw"),
    ("t: target: prefix: root: d: dest: w: wheel-dir: log: report: cache-dir:", WRITES),
    ("break-system-packages user force-reinstall U upgrade", CHANGES),
)
_PIP = Family(
    Policy(
        "qvhV",
        _PIP_TALK + " version",
        (*_PIP_SOURCES[:1], ("python: log: cache-dir: require-virtualenv", ELSEWHERE)),
        stops=True,
    ),
    {
        "list": Policy(
            "qvoleh",
            _PIP_TALK + " outdated uptodate local user format: not-required exclude-editable "
            "include-editable exclude: pre",
            _PIP_SOURCES[:1],
        ),
        "show": Policy("fqvh", _PIP_TALK + " files"),
        "freeze": Policy("lqvh", _PIP_TALK + " local user all exclude-editable exclude:"),
        "check": Policy("qvh", _PIP_TALK),
        "help": Policy(),
        "debug": Policy("qv", _PIP_TALK),
        "inspect": Policy("", "local user"),
        "index": Policy("", "pre json", _PIP_SOURCES[:1]),
        "cache": Policy("", "format:", operands=first_is("dir", "info", "list", bare=False)),
        "config": Policy("", "user global site", operands=first_is("list", "get", "debug", bare=False)),
        "install": Policy("qv", _PIP_TALK + " only-binary: no-deps pre dry-run", _PIP_SOURCES, _package),
        "download": Policy(
            "qv",
            _PIP_TALK + " only-binary: no-deps pre platform: python-version: abi: implementation:",
            _PIP_SOURCES,
            _package,
        ),
        "uninstall": Policy("yqv", _PIP_TALK + " yes", _PIP_SOURCES, _package),
    },
)
_CARGO_BUILD = Policy(
    "qvp:F:j:rh",
    _TALK + " package: workspace all exclude: lib bin: bins example: examples test: tests "
    "bench: benches "
    "all-targets features: all-features no-default-features release profile: jobs: "
    "keep-going target: locked offline frozen "
    "message-format: no-run no-fail-fast doc ignore-rust-version timings open no-deps "
    "document-private-items allow-dirty nocapture test-threads:",
    (("config: Z: target-dir: artifact-dir: out-dir: manifest-path: C:", SETTINGS), ("fix", CHANGES)),
)
_CARGO = Family(
    Policy("qvV", _TALK + " list locked offline frozen explain:", (("config: Z: C:", SETTINGS),), stops=True),
    dict.fromkeys(
        ("build", "b", "check", "c", "test", "t", "bench", "clippy", "doc", "d", "nextest"), _CARGO_BUILD
    )
    | {
        "fmt": Policy(
            "qvp:", _TALK + " check all package: message-format:", (("config: manifest-path:", SETTINGS),)
        ),
        "tree": Policy(
            "e:p:i:d",
            _TALK + " edges: package: invert: depth: prefix: duplicates format: features: all-features "
            "no-default-features workspace target: charset: no-dedupe",
        ),
        "metadata": Policy(
            "q", _TALK + " no-deps format-version: features: all-features offline locked filter-platform:"
        ),
        "search": Policy("q", _TALK + " limit:"),
        "pkgid": Policy(),
        "version": Policy("v"),
        "help": Policy(),
        "locate-project": Policy(),
        "verify-project": Policy(),
        "fetch": Policy("qv", _TALK + " locked offline target:"),
        "info": Policy("q", _TALK),
        "outdated": Policy("", _TALK),
        "audit": Policy("q", _TALK),
        "deny": Policy("", _TALK),
        "run": "runs the program that was built",
        "r": "runs the program that was built",
        "install": _FETCHES,
        "publish": SENDS,
        "login": SENDS,
        "add": Policy(
            "qvF:",
            _TALK + " dev build features: no-default-features optional rename: package: dry-run",
            operands=_package,
        ),
        "update": Policy("qvp:", _TALK + " package: precise: dry-run workspace recursive"),
        "clean": Policy("qvp:r", _TALK + " package: release doc dry-run profile:"),
        "new": Policy("q", _TALK + " lib bin name: edition: vcs:", operands=writes_all),
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
        "install": _FETCHES,
    },
)
_LINTER_ASKS = (
    ("config: c: config-file:", SETTINGS),
    ("plugin: p: load-plugins: rulesdir: resolve-plugins-relative-to: require: r:", "loads code"),
    ("o: output: output-file: cache-location:", WRITES),
)
_RUFF = Policy(
    "qvse",
    "quiet verbose silent select: ignore: extend-select: extend-ignore: exclude: "
    "line-length: target-version: output-format: statistics show-files show-settings "
    "show-fixes no-cache check diff preview no-preview isolated exit-zero "
    "exit-non-zero-on-fix force-exclude stdin-filename: no-fix help respect-gitignore "
    "no-respect-gitignore range: ignore-noqa per-file-ignores:",
    (
        ("fix fix-only unsafe-fixes add-noqa watch w", "edits the files"),
        *_LINTER_ASKS,
        ("cache-dir:", WRITES),
    ),
)
_RUFF_FORMAT = _RUFF._replace(asks=_RUFF.asks[1:])
_RUFF_FAMILY = Family(
    Policy("qvV", "quiet verbose version help", (("config:", SETTINGS),), stops=True),
    {
        "check": _RUFF,
        "format": _RUFF_FORMAT,
        "rule": _RUFF,
        "linter": _RUFF,
        "version": _RUFF,
        "config": _RUFF,
        "help": _RUFF,
        "analyze": _RUFF,
    },
)
_UV = Family(
    Policy(
        "qvV",
        "quiet verbose version help offline no-progress",
        (("directory: project: config-file: index-url: default-index:", ELSEWHERE),),
        stops=True,
    ),
    {
        "pip": Policy(
            "q", "outdated format:", operands=first_is("list", "show", "freeze", "check", "tree", bare=False)
        ),
        "tree": Policy("", "depth: frozen locked outdated"),
        "version": Policy("", "short", operands=no_operands),
        "python": Policy(
            "", "all-versions only-installed", operands=first_is("list", "find", "dir", bare=False)
        ),
        "cache": Policy("", "", operands=first_is("dir", bare=False)),
        "lock": Policy("", "check upgrade dry-run locked"),
        "sync": Policy("", "frozen locked no-dev dry-run all-extras extra: group:", _PIP_SOURCES[:1]),
        "help": Policy(),
    },
)
_PYTEST = Policy(
    "qvxsklm:n:r:hV",
    "quiet verbose exitfirst maxfail: last-failed lf failed-first ff new-first nf "
    "stepwise sw stepwise-skip sw-skip capture: "
    "tb: durations: durations-min: collect-only co no-header no-summary showlocals "
    "no-showlocals show-capture: color: strict-markers "
    "strict-config strict disable-warnings cov? cov-report: cov-branch no-cov "
    "cov-fail-under: numprocesses: dist: maxprocesses: timeout: markers fixtures "
    "fixtures-per-test setup-only setup-show setup-plan runxfail deselect: ignore: "
    "ignore-glob: cache-show? reruns: randomly-seed: "
    "help version full-trace import-mode: noconftest code-highlight: asyncio-mode: "
    "last-failed-no-failures: lfnf: benchmark-disable benchmark-only benchmark-skip "
    "count: doctest-modules doctest-continue-on-failure pyargs",
    (
        (
            "p: c: config-file: rootdir: confcutdir: o: override-ini: cov-config: pdbcls: W: pythonwarnings:",
            SETTINGS,
        ),
        (
            "basetemp: junitxml: junit-xml: result-log: log-file: report-log: html: "
            "json-report-file: debug? pastebin: cache-clear",
            WRITES,
        ),
        ("pdb trace", "waits at a prompt"),
    ),
)
_PYTEST = _PYTEST._replace(shorts="qvxslk:m:n:r:hV")

FAMILIES: dict[str, Family] = {
    "npm": _NPM,
    "pnpm": _NPM,
    "yarn": _NPM._replace(alone=_FETCHES),
    "pip": _PIP,
    "pip3": _PIP,
    "cargo": _CARGO,
    "go": _GO,
    "ruff": _RUFF_FAMILY,
    "uv": _UV,
    "bun": Family(
        Policy("v", "version help revision", stops=True),
        {"test": _NPM_RUN, "pm": Policy("", "all", operands=first_is("ls", "bin", "hash", bare=False))},
    ),
    "poetry": Family(
        Policy(
            "qvnV",
            "quiet verbose no-interaction version help no-ansi",
            (("C: directory: project: P:", ELSEWHERE),),
            stops=True,
        ),
        {
            "show": Policy("tlovT", "tree latest outdated all top-level only: with: without: no-dev"),
            "check": Policy("", "lock strict"),
            "env": Policy("", "path full-path", operands=first_is("info", "list", bare=False)),
            "version": Policy("s", "short dry-run", operands=no_operands),
            "lock": Policy("", "no-update check regenerate"),
            "config": Policy("", "list", operands=no_operands),
            "about": Policy(),
            "search": Policy(),
            "help": Policy(),
        },
    ),
    "composer": Family(
        Policy(
            "qvnV", "quiet verbose no-interaction version help", (("d: working-dir:", ELSEWHERE),), stops=True
        ),
        {
            "show": Policy("itoDl", "installed tree outdated direct latest"),
            "validate": Policy("", "strict"),
            "outdated": Policy("D", "direct"),
            "diagnose": Policy(),
            "why": Policy("tr"),
            "licenses": Policy(),
            "about": Policy(),
        },
    ),
    "gem": Family(
        Policy("v", "version help", stops=True),
        {
            "list": Policy("ldaqr", "local details all remote"),
            "search": Policy("dr"),
            "info": Policy(),
            "env": Policy(),
            "outdated": Policy(),
            "dependency": Policy(),
            "contents": Policy(),
            "which": Policy(),
        },
    ),
    "bundle": Family(
        Policy("v", "version help", stops=True),
        {
            "list": Policy("", "name-only paths"),
            "show": Policy("", "paths"),
            "check": Policy(),
            "outdated": Policy(),
            "info": Policy("", "path"),
            "exec": RUNS,
            "version": Policy(),
        },
    ),
    "rustup": Family(
        Policy("vqV", _TALK, stops=True),
        {
            "show": Policy("v"),
            "toolchain": Policy("v", "", operands=first_is("list", bare=False)),
            "target": Policy("", "installed toolchain:", operands=first_is("list", bare=False)),
            "component": Policy("", "installed toolchain:", operands=first_is("list", bare=False)),
            "which": Policy(),
            "check": Policy(),
            "doc": Policy("", "path"),
        },
    ),
    "dotnet": Family(
        Policy("h", "info version list-sdks list-runtimes help", stops=True),
        {
            "build": Policy(
                "c:f:v:", "configuration: framework: no-restore nologo no-incremental verbosity:"
            ),
            "test": Policy(
                "c:f:v:", "configuration: framework: no-build no-restore filter: nologo verbosity: list-tests"
            ),
            "list": Policy("", "outdated"),
            "format": Policy("v:", "verify-no-changes no-restore verbosity:"),
        },
    ),
    "gh": Family(
        Policy("", "help version", stops=True),
        {
            name: Policy(
                "L:s:l:a:A:R:",
                "limit: state: label: author: assignee: repo: json: jq: comments web log "
                "log-failed name-only patch",
                operands=first_is("list", "view", "status", "diff", "checks", bare=False),
            )
            for name in ("pr", "issue", "run", "repo", "release", "workflow", "gist", "label")
        }
        | {
            "auth": Policy("", "", operands=first_is("status", bare=False)),
            "status": Policy(),
            "search": Policy("L:", "limit: json: repo: state: language:"),
            "api": SENDS,
        },
    ),
    "brew": Family(
        Policy("v", "version help prefix cellar", stops=True),
        {
            "list": Policy("1l", "versions formula cask"),
            "info": Policy("", "json?"),
            "search": Policy(),
            "outdated": Policy(),
            "deps": Policy("", "tree installed"),
            "uses": Policy("", "installed"),
            "config": Policy(),
            "doctor": Policy(),
            "leaves": Policy(),
        },
    ),
    "apt": Family(
        Policy("qV", "quiet version help", stops=True),
        {
            "list": Policy("a", "installed upgradable all-versions"),
            "show": Policy("a", "all-versions"),
            "search": Policy("nf", "names-only full"),
            "policy": Policy(),
            "depends": Policy("i"),
            "rdepends": Policy(),
            "madison": Policy(),
            "pkgnames": Policy(),
        },
    ),
    "dpkg": Family(
        Policy(
            "lLsSpCVv",
            "list listfiles status search print-avail audit verify version print-architecture "
            "help get-selections",
            (
                (
                    "i install r remove P purge unpack configure root: force-: pre-invoke: "
                    "post-invoke: admindir: instdir: log:",
                    CHANGES,
                ),
            ),
        ),
        {},
    ),
    "rpm": Family(
        Policy(
            "qailcdRfpV",
            "query all list info version",
            (("e i U F E: eval: root: pipe: define: D: install erase", CHANGES),),
        ),
        {},
    ),
    "mvn": Family(
        Policy(
            "qBoUeVvXnT:pl:",
            "quiet batch-mode offline errors version show-version fail-fast no-transfer-progress help",
            (("D: f: file: s: settings: gs: P:", SETTINGS),),
        ),
        {
            name: Policy()
            for name in ("compile", "test", "verify", "validate", "package", "clean", "test-compile")
        },
    ),
}
FAMILIES["apt-cache"] = FAMILIES["apt"]
FAMILIES["apt-get"] = Family(
    Policy(
        "qvsyV", "quiet version help simulate dry-run", (("o: option: c: config-file:", RUNS),), stops=True
    ),
    {"check": Policy(), "changelog": Policy()},
    unknown="changes the installed programs",
)

POLICIES: dict[str, Policy] = {
    "make": Policy(
        "kisnBj?l?wqStdbm",
        "keep-going ignore-errors silent quiet always-make just-print dry-run recon jobs? "
        "load-average? print-directory no-print-directory question touch debug? "
        "output-sync? trace warn-undefined-variables print-data-base no-builtin-rules "
        "no-builtin-variables help version",
        (
            (
                "f: file: makefile: C: directory: I: include-dir: o: old-file: W: what-if: "
                "new-file: assume-new: e environment-overrides",
                SETTINGS,
            ),
            ("E: eval:", RUNS),
        ),
        no_assignments,
    ),
    "ninja": Policy("j:k:l:nvd:", "verbose quiet version help", (("C: f: t:", SETTINGS),)),
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "tox": Policy(
        "e:vqlap", "version help listenvs", (("c: conf: workdir: x: override: r recreate", SETTINGS),)
    ),
    "nox": Policy("s:lvt:k:", "list sessions: version help", (("f: noxfile: p: P:", SETTINGS),)),
    "mypy": Policy(
        "vp:m:hV",
        "verbose strict package: module: ignore-missing-imports no-incremental "
        "python-version: platform: show-error-codes show-error-context pretty "
        "no-color-output no-error-summary warn-unused-ignores warn-return-any "
        "warn-unreachable disallow-untyped-defs disallow-any-generics check-untyped-defs "
        "no-implicit-optional follow-imports: exclude: explicit-package-bases "
        "namespace-packages show-column-numbers disable-error-code: enable-error-code: "
        "no-site-packages version help",
        (
            ("config-file: python-executable: shadow-file: custom-typeshed-dir: plugin:", SETTINGS),
            ("install-types non-interactive", _FETCHES),
            ("c: command:", "takes a program"),
            (
                "cache-dir: junit-xml: html-report: txt-report: xml-report: linecount-report: "
                "any-exprs-report:",
                WRITES,
            ),
        ),
    ),
    "pyright": Policy(
        "vhw",
        "outputjson stats verbose version help level: pythonversion: pythonplatform: "
        "warnings skipunannotated dependencies",
        (
            (
                "p: project: v: venvpath: venv-path: t: typeshed-path: pythonpath: createstub: verifytypes:",
                SETTINGS,
            ),
        ),
    ),
    "flake8": Policy(
        "qvj:",
        "quiet verbose count max-line-length: max-complexity: select: ignore: "
        "extend-ignore: exclude: statistics show-source format: jobs: version help",
        (*_LINTER_ASKS, ("append-config: tee", SETTINGS)),
    ),
    "pylint": Policy(
        "dej:rvfsE",
        "disable: enable: jobs: reports: output-format: score: errors-only list-msgs version help",
        (("init-hook: rcfile:", RUNS), *_LINTER_ASKS),
    ),
    "black": Policy(
        "vqhl:tSC",
        "check diff color quiet verbose line-length: target-version: exclude: include: "
        "extend-exclude: skip-string-normalization fast safe preview version help",
        (("config: c: code:", SETTINGS),),
    ),
    "isort": Policy(
        "cdvq",
        "check check-only diff profile: quiet verbose version help line-length: skip: skip-glob:",
        (("settings-path: settings-file: sp: sf:", SETTINGS),),
    ),
    "eslint": Policy(
        "h",
        "ext: quiet max-warnings: format: color no-color cache no-cache ignore-pattern: "
        "no-ignore no-error-on-unmatched-pattern report-unused-disable-directives debug "
        "version help env-info no-inline-config",
        (
            ("fix fix-type: init", "edits the files"),
            ("f:", RUNS),
            *_LINTER_ASKS,
            ("parser: parser-options: stdin-filename: cache-file: no-eslintrc", SETTINGS),
        ),
    ),
    "prettier": Policy(
        "clu",
        "check list-different loglevel: log-level: ignore-unknown no-config "
        "no-editorconfig version help no-error-on-unmatched-pattern single-quote "
        "print-width: tab-width: use-tabs parser: no-semi trailing-comma:",
        (
            ("w write", "edits the files"),
            *_LINTER_ASKS,
            ("ignore-path: plugin-search-dir: find-config-path:", SETTINGS),
        ),
    ),
    "tsc": Policy(
        "hvbd",
        "noEmit strict pretty version help all listFiles listFilesOnly showConfig "
        "skipLibCheck target: module: jsx: lib: esModuleInterop allowJs checkJs "
        "isolatedModules noUnusedLocals noImplicitAny moduleResolution: incremental",
        (
            (
                "p: project: outDir: outFile: declarationDir: tsBuildInfoFile: generateTrace: "
                "generateCpuProfile: rootDir: init build watch w plugins:",
                WRITES,
            ),
        ),
    ),
    "shellcheck": Policy(
        "s:e:S:f:o:i:axW:V",
        "shell: exclude: severity: format: enable: include: color? external-sources norc "
        "check-sourced version help",
        (("P: source-path: rcfile:", SETTINGS),),
    ),
    "shfmt": Policy("dlispn:bcfmt:", "diff list simplify version help", (("w write", "edits the files"),)),
    "yamllint": Policy("d:f:sv", "strict format: no-warnings version help", (("c: config-file:", SETTINGS),)),
    "hadolint": Policy("f:t:", "format: ignore: no-fail version help", (("c: config:", SETTINGS),)),
    "markdownlint": Policy(
        "qj",
        "quiet json disable: enable: version help",
        (("f fix", "edits the files"), *_LINTER_ASKS, ("rules:", RUNS)),
    ),
    "gofmt": Policy("", "l d s e", (("w cpuprofile:", "edits the files"), ("r:", CHANGES)), dashes="one"),
    "rustfmt": Policy(
        "lqv",
        "check emit: edition: color: quiet verbose version help",
        (("config-path: config: backup", SETTINGS),),
    ),
    "staticcheck": Policy("", "checks: f: tests: go: explain: version", dashes="one"),
    "golangci-lint": Policy(
        "vD:E:",
        "fast timeout: no-config version help",
        (("c: config:", SETTINGS), ("fix", "edits the files")),
    ),
    "vitest": Policy(
        "t:",
        "run reporter: coverage version help no-color testNamePattern: bail?",
        (("config: c: root: dir: globalSetup:", SETTINGS), ("outputFile: u update", WRITES)),
    ),
    "jest": Policy(
        "t:iob",
        "testNamePattern: runInBand ci coverage verbose silent bail? watchAll? listTests "
        "maxWorkers: onlyChanged passWithNoTests no-cache colors detectOpenHandles "
        "forceExit version help testPathPattern:",
        (
            (
                "config: c: setupFiles: setupFilesAfterEnv: globalSetup: testRunner: runner: "
                "transform: rootDir: reporters:",
                RUNS,
            ),
            ("outputFile: u updateSnapshot json", WRITES),
        ),
    ),
    "gcc": Policy("v", _HELP, operands=no_operands),
    "javac": Policy("", _HELP, operands=no_operands),
    "rustc": Policy("vV", "version verbose help print: explain:", operands=no_operands),
    "pre-commit": Policy("hV", _HELP, operands=no_operands),
}
