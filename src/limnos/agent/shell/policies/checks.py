"""Programs that build, test and check code."""

import re

from limnos.agent.shell.options import CHANGES, RUNS, SETTINGS, WRITES, Call, Family, Options, Policy
from limnos.agent.shell.place import is_inside, meanings
from limnos.agent.shell.policies.packages import FETCHES
from limnos.agent.shell.policies.targets import no_assignments, no_operands

_HELP = "help version"
_REPORT_FILE = re.compile(r"(html|xml|json|lcov|annotate):")
_WARNING = re.compile(r"(error|ignore|default|always|once|module)(::[A-Z]\w*)?")
_PLAIN_NAME = re.compile(r"[\w-]+")
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
RUFF = Family(
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


def _inside(call: Call, options: Options) -> str:
    """Tests are code: only those of the working folder. A report may name its file."""
    loaded = next((one for one in options.values.get("-p", []) if not one.startswith("no:")), "")
    if loaded:
        return f"loads {loaded}"
    warned = next((one for one in options.values.get("-W", []) if not _WARNING.fullmatch(one)), "")
    if warned:
        return f"loads what {warned} names"
    report = next((one for one in options.values.get("--cov-report", []) if _REPORT_FILE.match(one)), "")
    if report:
        return WRITES
    paths = [one.partition("::")[0] for one in options.operands]
    outside = next(
        (one for one in paths if not is_inside(meanings(one, call.place, call.folders), call.place)), ""
    )
    return f"runs the code of {outside}, outside the working folder" if outside else ""


def _known_formats(call: Call, options: Options) -> str:
    del call
    named = next((one for one in options.values.get("--format", []) if not _PLAIN_NAME.fullmatch(one)), "")
    return f"loads the code of {named}" if named else ""


_PYTEST = Policy(
    "qvxslk:m:n:r:hVp:W:",
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
            "c: config-file: rootdir: confcutdir: o: override-ini: cov-config: pdbcls: pythonwarnings:",
            SETTINGS,
        ),
        (
            "basetemp: junitxml: junit-xml: result-log: log-file: report-log: html: "
            "json-report-file: debug? pastebin: cache-clear",
            WRITES,
        ),
        ("pdb trace", "waits at a prompt"),
    ),
    _inside,
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
            ("install-types non-interactive", FETCHES),
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
        _known_formats,
    ),
    "prettier": Policy(
        "clu",
        "check list-different loglevel: log-level: ignore-unknown no-config "
        "no-editorconfig version help no-error-on-unmatched-pattern single-quote "
        "print-width: tab-width: use-tabs parser: no-semi trailing-comma:",
        (
            ("w write", "edits the files"),
            ("plugin: plugin-search-dir:", "loads code"),
            ("config: ignore-path: find-config-path:", SETTINGS),
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
    **dict.fromkeys(
        ("gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran", "tcc", "ld", "as"),
        Policy("v", _HELP, operands=no_operands),
    ),
    "javac": Policy("", _HELP, operands=no_operands),
    "rustc": Policy("vV", "version verbose help print: explain:", operands=no_operands),
    "pre-commit": Policy("hV", _HELP, operands=no_operands),
}
