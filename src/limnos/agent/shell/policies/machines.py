"""Containers, clusters and services: looking is harmless, everything else is asked about."""

from limnos.agent.shell.options import (
    CHANGES,
    ELSEWHERE,
    SENDS,
    SETTINGS,
    WRITES,
    Call,
    Family,
    Options,
    Policy,
    judge,
)
from limnos.agent.shell.policies.targets import at_most, first_is, no_operands, only_with

_HELP = "help version"
_LIST = Policy("aqlsn:f:", "all quiet no-trunc latest last: size filter: format: digests tree help")
_LOGS = Policy("ftn:", "follow timestamps tail: since: until: details no-color no-log-prefix help index:")
_ABROAD = (
    (
        "H: host: c: context: config: tls tlscacert: tlscert: tlskey: tlsverify "
        "connection: url: identity: root: runroot: D debug",
        ELSEWHERE,
    ),
)
_CONTAINER_RUN = "runs a program in a container"
_COMPOSE_SUBS = {
    name: Policy(
        "qaftn:",
        "quiet all services tail: follow timestamps no-trunc format: volumes images "
        "profiles hash: since: until: no-color no-log-prefix index:",
    )
    for name in ("ps", "logs", "config", "images", "ls", "top", "version", "port", "events", "stats")
}
_COMPOSE_FLAGS = Policy(
    "", _HELP, (("f: file: p: project-name: project-directory: env-file: profile:", ELSEWHERE),), stops=True
)


def _compose(call: Call, options: Options) -> str:
    sub = options.operands[0] if options.operands else ""
    if sub not in _COMPOSE_SUBS:
        return f"{sub} is not known to be harmless"
    return judge(call._replace(args=options.operands[1:]), _COMPOSE_SUBS[sub])


_COMPOSE = _COMPOSE_FLAGS._replace(operands=_compose)
_SELECT = (
    "namespace: all-namespaces selector: field-selector: output: show-labels watch "
    "watch-only no-headers sort-by: label-columns: show-kind ignore-not-found "
    "chunk-size: limit: request-timeout: v: help"
)
_CLUSTER = (
    (
        "kubeconfig: server: s: token: as: as-group: user: username: password: context: "
        "cluster: insecure-skip-tls-verify certificate-authority: client-certificate: "
        "client-key: tls-server-name: cache-dir: raw:",
        ELSEWHERE,
    ),
    ("f: filename: k: kustomize: R recursive template:", SETTINGS),
)
_GET = Policy("n:Al:o:wL:v:", _SELECT, _CLUSTER)


def _no_secrets(call: Call, options: Options) -> str:
    kinds = {kind.split("/")[0] for operand in options.operands for kind in operand.split(",")}
    del call
    return "shows secrets" if kinds & {"secret", "secrets"} else ""


def _service(call: Call, options: Options) -> str:
    del call
    action = options.operands[-1] if options.operands else ""
    return "" if action in ("status", "") else "changes a service"


def _crontab(call: Call, options: Options) -> str:
    del call
    return "" if "-l" in options.values and not options.operands else "installs a table of later commands"


def _sysctl(call: Call, options: Options) -> str:
    del call
    return CHANGES if any("=" in one for one in options.operands) else ""


_DOCKER = Family(
    Policy("v", _HELP, _ABROAD, stops=True),
    {
        "ps": _LIST,
        "images": _LIST,
        "logs": _LOGS,
        "version": Policy("f:", "format:"),
        "info": Policy("f:", "format:"),
        "inspect": Policy("f:s", "format: size type:"),
        "top": Policy("", ""),
        "stats": Policy("a", "all no-stream no-trunc format:"),
        "port": Policy(),
        "diff": Policy(),
        "events": Policy("f:", "filter: since: until: format:"),
        "history": Policy("qH", "quiet no-trunc human format:"),
        "search": Policy("f:", "limit: filter: no-trunc"),
        "help": Policy(),
        "compose": _COMPOSE,
        "container": Policy(
            "aqlsn:f:",
            "all quiet latest last: size filter: format: no-trunc",
            operands=first_is(
                "ls", "list", "ps", "inspect", "logs", "top", "stats", "port", "diff", bare=False
            ),
        ),
        "image": Policy(
            "aqf:",
            "all quiet digests filter: format: no-trunc",
            operands=first_is("ls", "list", "inspect", "history", bare=False),
        ),
        "volume": Policy(
            "qf:", "quiet filter: format:", operands=first_is("ls", "list", "inspect", bare=False)
        ),
        "network": Policy(
            "qf:", "quiet filter: format: no-trunc", operands=first_is("ls", "list", "inspect", bare=False)
        ),
        "system": Policy("v", "verbose format:", operands=first_is("df", "info", bare=False)),
        "context": Policy(
            "q", "quiet format:", operands=first_is("ls", "list", "show", "inspect", bare=False)
        ),
        "buildx": Policy("", "", operands=first_is("ls", "du", "version", bare=False)),
        "pull": Policy("q", "quiet platform:"),
        "stop": Policy("t:s:", "time: signal: timeout:"),
        "start": Policy(),
        "restart": Policy("t:", "time: timeout:"),
        "pause": Policy(),
        "unpause": Policy(),
        "wait": Policy(),
        "tag": Policy(),
        "run": _CONTAINER_RUN,
        "exec": _CONTAINER_RUN,
        "create": _CONTAINER_RUN,
        "build": "runs the steps of a build file",
        "cp": "copies into or out of a container",
        "rm": CHANGES,
        "rmi": CHANGES,
        "prune": CHANGES,
        "push": SENDS,
        "login": "uses a password",
        "load": CHANGES,
        "save": WRITES,
        "export": WRITES,
        "commit": CHANGES,
    },
)
_KUBECTL = Family(
    Policy("n:v:", "namespace: v: " + _HELP, _CLUSTER, stops=True),
    {
        "get": _GET._replace(operands=_no_secrets),
        "describe": _GET._replace(operands=_no_secrets),
        "logs": Policy(
            "n:c:fpl:",
            "namespace: container: follow previous tail: since: since-time: timestamps "
            "all-containers selector: prefix max-log-requests: limit-bytes: ignore-errors",
            _CLUSTER[:1],
        ),
        "top": _GET,
        "explain": Policy("", "recursive api-version: output:"),
        "version": Policy("o:", "client output: short"),
        "cluster-info": Policy("", "", operands=no_operands),
        "api-resources": Policy("o:", "namespaced? verbs: output: sort-by: api-group: no-headers"),
        "api-versions": Policy(),
        "events": _GET,
        "wait": Policy("n:l:", "for: timeout: namespace: selector: all", _CLUSTER),
        "config": Policy(
            "o:",
            "minify output:",
            operands=first_is("current-context", "get-contexts", "get-clusters", "get-users", bare=False),
        ),
        "auth": Policy("n:", "namespace:", operands=first_is("can-i", "whoami", bare=False)),
        "rollout": Policy(
            "n:w", "namespace: watch timeout: revision:", operands=first_is("status", "history", bare=False)
        ),
        "help": Policy(),
        "exec": _CONTAINER_RUN,
        "run": _CONTAINER_RUN,
        "debug": _CONTAINER_RUN,
        "attach": _CONTAINER_RUN,
        "cp": "copies into or out of a container",
        "apply": CHANGES,
        "delete": CHANGES,
        "edit": "opens an editor",
        "port-forward": "opens a port",
        "proxy": "opens a port",
    },
)
_UNITS = Policy(
    "alt:n:p:qro:",
    "all full no-pager type: state: lines: property: value quiet plain no-legend "
    "failed output: user system recursive reverse before after no-ask-password",
    (("M: machine: root: image: H: host:", ELSEWHERE), ("f force now", CHANGES)),
)

FAMILIES: dict[str, Family] = {
    "docker": _DOCKER,
    "podman": _DOCKER,
    "nerdctl": _DOCKER,
    "docker-compose": Family(_COMPOSE_FLAGS, {**_COMPOSE_SUBS}),
    "kubectl": _KUBECTL,
    "oc": _KUBECTL,
    "k3s": _KUBECTL,
    "helm": Family(
        Policy(
            "n:",
            "namespace: " + _HELP,
            (
                (
                    "kubeconfig: kube-context: registry-config: repository-config: repository-cache: "
                    "post-renderer:",
                    ELSEWHERE,
                ),
            ),
            stops=True,
        ),
        {
            "list": Policy("aqn:Ao:", "all short namespace: all-namespaces output: filter:"),
            "status": Policy("n:o:", "namespace: output: revision:"),
            "history": Policy("n:o:", "namespace: max: output:"),
            "get": Policy(
                "n:o:",
                "namespace: output: revision: all",
                operands=first_is("values", "manifest", "notes", "hooks", "metadata", bare=False),
            ),
            "version": Policy("", "short template:"),
            "search": Policy("lo:", "versions output: version:"),
            "lint": Policy("", "strict set: with-subcharts"),
            "env": Policy(),
        },
    ),
    "systemctl": Family(
        _UNITS._replace(stops=True, longs=_UNITS.longs + " version help"),
        dict.fromkeys(
            (
                "status",
                "show",
                "list-units",
                "list-timers",
                "list-unit-files",
                "list-sockets",
                "list-dependencies",
                "is-active",
                "is-enabled",
                "is-failed",
                "cat",
                "get-default",
                "show-environment",
                "is-system-running",
                "list-jobs",
            ),
            _UNITS,
        ),
        unknown="changes the services of the machine",
    ),
    "loginctl": Family(
        Policy("", "no-pager " + _HELP, stops=True),
        {
            name: Policy("p:", "property: no-pager")
            for name in (
                "list-sessions",
                "show-session",
                "session-status",
                "list-users",
                "user-status",
                "list-seats",
            )
        },
    ),
    "timedatectl": Family(
        Policy("", "no-pager " + _HELP, stops=True),
        {
            "status": Policy(),
            "show": Policy("p:", "property: value"),
            "list-timezones": Policy(),
            "timesync-status": Policy(),
        },
    ),
    "hostnamectl": Family(Policy("", "static transient json: " + _HELP, stops=True), {"status": Policy()}),
    "terraform": Family(
        Policy("", _HELP, (("chdir:", ELSEWHERE),), stops=True, dashes="one"),
        {
            "validate": Policy("", "json no-color", dashes="one"),
            "fmt": Policy("", "check diff recursive list: write: no-color", dashes="one"),
            "show": Policy("", "json no-color", dashes="one"),
            "version": Policy("", "json", dashes="one"),
            "providers": Policy("", "", operands=at_most(0)),
            "output": Policy("", "json raw no-color", dashes="one"),
            "state": Policy("", "", operands=first_is("list", "show", bare=False)),
            "workspace": Policy("", "", operands=first_is("list", "show", bare=False)),
            "graph": Policy("", "", operands=at_most(0)),
        },
    ),
    "aws": Family(Policy("", "version", stops=True), {}, unknown="talks to another machine"),
    "az": Family(Policy("", "version", stops=True), {}, unknown="talks to another machine"),
    "gcloud": Family(Policy("", "version", stops=True), {}, unknown="talks to another machine"),
}
RPM_QUERY = Policy(
    "qailcdRfpvs",
    "query all list info file package changelog scripts requires provides docfiles configfiles last",
    (("E: eval: root: pipe: define: D: queryformat: qf:", CHANGES),),
)
POLICIES: dict[str, Policy] = {
    "dpkg": Policy(
        "lLsSpCVv",
        "list listfiles status search print-avail audit verify version help get-selections",
        (("i install r remove P purge unpack configure root: admindir: instdir: log:", CHANGES),),
    ),
    "rpm": Policy(
        "qailcdRfpV",
        "query all list info version",
        (("e i U F E: eval: root: pipe: define: D: install erase", CHANGES),),
    ),
    "journalctl": Policy(
        "u:n:fxeb?kp:o:rqSUt:g:",
        "unit: user-unit: lines? follow no-pager since: until: boot? dmesg priority: "
        "output: reverse catalog pager-end list-boots disk-usage identifier: grep: user "
        "system quiet utc output-fields: no-tail all no-hostname " + _HELP,
        (
            ("vacuum-size: vacuum-time: vacuum-files: rotate flush sync setup-keys", CHANGES),
            ("D: directory: file: root: image: M: machine: cursor-file:", ELSEWHERE),
        ),
        numbers=True,
    ),
    "crontab": Policy(
        "l",
        "",
        (("e", "opens an editor"), ("r i", CHANGES), ("u: T: x:", ELSEWHERE)),
        _crontab,
    ),
    "atq": Policy("q:V"),
    "service": Policy("", "status-all", operands=_service),
    "sysctl": Policy(
        "anNe",
        "all names values",
        (("w p? write load? system", CHANGES),),
        _sysctl,
    ),
    "ulimit": Policy("aHScdfilmnpqrstuvx", "", operands=no_operands),
    "mount": Policy("l", _HELP, operands=no_operands),
    "findmnt": Policy("aAlno:rt:J", "all list noheadings output: json types:"),
    "swapon": Policy("s", "show? summary", operands=no_operands),
    "fdisk": Policy(
        "l",
        "list",
        operands=only_with(CHANGES, "-l", "--list"),
    ),
    "parted": Policy("l", "list", operands=no_operands),
    "iptables": Policy("LnvSt:x", "list numeric verbose line-numbers list-rules", operands=at_most(1)),
    "ufw": Policy("", "", operands=first_is("status", bare=False)),
    "tmux": Policy(
        "V", "", operands=first_is("ls", "list-sessions", "list-windows", "has-session", bare=False)
    ),
    "kill": Policy("l", "list", operands=no_operands),
    "sqlite3": Policy("", "version", operands=no_operands),
}
