"""Package tools of further languages and systems, and what they tell without changing anything."""

from limnos.agent.shell.options import ELSEWHERE, RUNS, SENDS, SETTINGS, Family, Policy
from limnos.agent.shell.policies import packages
from limnos.agent.shell.policies.checks import RUFF
from limnos.agent.shell.policies.packages import NPM_RUN, PIP_SOURCES, TALK, package_names
from limnos.agent.shell.policies.targets import first_is, no_operands

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
        "sync": Policy("", "frozen locked no-dev dry-run all-extras extra: group:", PIP_SOURCES[:1]),
        "help": Policy(),
        "add": Policy("", "dev group: optional: no-sync frozen", PIP_SOURCES, package_names),
        "remove": Policy("", "dev group: optional: no-sync frozen", PIP_SOURCES, package_names),
    },
)
FAMILIES: dict[str, Family] = {
    **packages.FAMILIES,
    "ruff": RUFF,
    "uv": _UV,
    "bun": Family(
        Policy("v", "version help revision", stops=True),
        {"test": NPM_RUN, "pm": Policy("", "all", operands=first_is("ls", "bin", "hash", bare=False))},
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
            "add": Policy(
                "DG:",
                "dev group: optional dry-run lock extras:",
                (("e editable source:", RUNS),),
                package_names,
            ),
            "remove": Policy("DG:", "dev group: dry-run lock", operands=package_names),
            "install": Policy(
                "", "no-root sync only: with: without: dry-run no-dev all-extras", operands=no_operands
            ),
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
        Policy("vqV", TALK, stops=True),
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
