"""Git: what its subcommands may be told without a question."""

from limnos.agent.shell.options import (
    CHANGES,
    ELSEWHERE,
    RUNS,
    SENDS,
    SETTINGS,
    UNSEEN,
    WRITES,
    Call,
    Family,
    Options,
    Policy,
)
from limnos.agent.shell.policies.git_reading import READING
from limnos.agent.shell.policies.targets import at_most, first_is, first_is_not, only_with, writing_fault

_COMMIT = Policy(
    "am:C:c:sqvezpoiu?",
    "all message: reuse-message: reedit-message: fixup: squash: reset-author short "
    "branch porcelain long null "
    "author: date: signoff no-signoff trailer: no-edit allow-empty allow-empty-message "
    "cleanup: edit amend no-post-rewrite "
    "include only quiet dry-run status no-status verbose untracked-files? patch interactive no-gpg-sign",
    (
        ("F: file: t: template: pathspec-from-file:", UNSEEN),
        ("S? gpg-sign?", "runs gpg"),
        ("n no-verify", "skips the checks of the repository"),
    ),
)
_MERGE = (
    "commit no-commit edit no-edit ff no-ff ff-only log? no-log signoff no-signoff "
    "stat no-stat squash no-squash no-verify-signatures quiet verbose progress "
    "no-progress allow-unrelated-histories autostash no-autostash abort continue quit "
    "rerere-autoupdate message: strategy-option: into-name:"
)
_OTHER_SIDE = (("upload-pack: receive-pack: exec: u:", RUNS),)


def _remotes(call: Call, options: Options) -> str:
    """A remote by its configured name only; an address may be a command or another host."""
    for operand in options.operands:
        if "::" in operand:
            return f"talks to {operand}, which runs a program"
    first = options.operands[0] if options.operands else ""
    if ":" in first or first.startswith(("/", ".", "~")):
        return f"talks to {first}, which is no configured remote"
    del call
    return ""


def _not_all_files(call: Call, options: Options) -> str:
    """Files by their names; the whole folder at once loses what was never committed."""
    del call
    unstages = options.values.keys() & {"-S", "--staged"} and not options.values.keys() & {"-W", "--worktree"}
    whole = next((one for one in options.operands if one.rstrip("/") in (".", "..", ":", "*", ":/*")), "")
    return f"throws away all changes in {whole}" if whole and not unstages else ""


def _clone(call: Call, options: Options) -> str:
    source = options.operands[0] if options.operands else ""
    plain = source.startswith(("https://", "ssh://", "git@"))
    if "::" in source or "://-" in source or not plain:
        return f"takes {source or 'nothing'}, which is no plain https or ssh address"
    return writing_fault(call, options.operands[1:])


def _pushes(call: Call, options: Options) -> str:
    deleted = next((one for one in options.operands[1:] if one.startswith((":", "+"))), "")
    return f"forces or deletes {deleted}" if deleted else _remotes(call, options)


def _config(call: Call, options: Options) -> str:
    reads = {
        "--get",
        "--get-all",
        "--get-regexp",
        "--list",
        "-l",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
    }
    del call
    if reads & options.values.keys() or options.operands[:1] in (("get",), ("list",)):
        return ""
    return "changes a setting, and settings can name programs" if len(options.operands) != 1 else ""


def _moves(call: Call, options: Options) -> str:
    return (
        "gets words that nobody saw"
        if call.unseen == "words"
        else writing_fault(call, options.operands, "moves")
    )


def _paths(call: Call, options: Options) -> str:
    return writing_fault(call, options.operands)


GIT = Family(
    Policy(
        "hv",
        "no-pager no-replace-objects literal-pathspecs glob-pathspecs noglob-pathspecs icase-pathspecs "
        "no-optional-locks version help no-advice",
        (
            ("c: config-env:", "sets a setting, and settings can name programs"),
            ("exec-path?", "looks for its own programs in another folder"),
            ("C: git-dir: work-tree: namespace: bare super-prefix:", ELSEWHERE),
            ("p paginate P", "runs a pager"),
            ("attr-source: list-cmds: html-path man-path info-path", "is not known to be harmless"),
        ),
        stops=True,
    ),
    {
        **READING,
        "ls-remote": Policy(
            "htqbs",
            "heads tags branches refs quiet exit-code get-url symref sort:",
            (*_OTHER_SIDE, ("o: server-option:", SENDS)),
            _remotes,
        ),
        "branch": Policy(
            "arvqltcui",
            "all remotes verbose quiet list track? no-track show-current contains: "
            "no-contains: merged? no-merged? points-at: sort: format: color? no-color column? "
            "no-column abbrev: no-abbrev set-upstream-to: unset-upstream copy "
            "ignore-case create-reflog",
            (
                ("d D delete f force m M move C", CHANGES),
                ("edit-description", "opens an editor"),
            ),
        ),
        "tag": Policy(
            "aln?im:",
            "annotate list message: sort: format: contains? no-contains? merged? no-merged? "
            "points-at: column? no-column color? ignore-case create-reflog cleanup:",
            (
                ("s sign u: local-user: v verify", "runs gpg"),
                ("d delete f force", CHANGES),
                ("F: file:", UNSEEN),
            ),
        ),
        "add": Policy(
            "nvfAuNkp",
            "dry-run verbose force all update no-all intent-to-add refresh ignore-errors "
            "ignore-missing renormalize sparse patch chmod: no-ignore-removal ignore-removal",
            (("e edit i interactive", "opens an editor"), ("pathspec-from-file:", UNSEEN)),
        ),
        "commit": _COMMIT,
        "stash": Policy(
            "uakqpm:S",
            "include-untracked all keep-index no-keep-index quiet patch message: staged index "
            "stat name-only only-untracked oneline",
            operands=first_is_not(CHANGES, "drop", "clear"),
        ),
        "checkout": Policy(
            "qb:tdlp23m",
            "quiet progress no-progress track? no-track detach orphan: ours theirs merge "
            "conflict: patch no-guess guess recurse-submodules",
            (("f force B:", CHANGES), ("pathspec-from-file:", UNSEEN)),
            _not_all_files,
        ),
        "switch": Policy(
            "c:dqtm",
            "create: detach quiet track? no-track guess no-guess orphan: merge conflict: "
            "progress no-progress",
            (("C: force-create: f force discard-changes", CHANGES),),
        ),
        "restore": Policy(
            "s:SWqpm",
            "source: staged worktree quiet patch ours theirs merge conflict: overlay "
            "no-overlay progress no-progress ignore-unmerged",
            (("pathspec-from-file:", UNSEEN),),
            _not_all_files,
        ),
        "reset": Policy(
            "qNp",
            "quiet mixed soft intent-to-add patch no-refresh refresh",
            (("hard merge keep", CHANGES), ("pathspec-from-file:", UNSEEN)),
        ),
        "rm": Policy("nrq", "dry-run cached ignore-unmatch quiet sparse", (("f force", CHANGES),), _paths),
        "mv": Policy("nkv", "dry-run verbose sparse", (("f force", CHANGES),), _moves),
        "clean": Policy("ndxXqe:", "dry-run quiet exclude:", (("f force i interactive", CHANGES),)),
        "init": Policy(
            "qb:",
            "quiet bare initial-branch: object-format: shared?",
            (("template: separate-git-dir:", RUNS),),
            _paths,
        ),
        "merge": Policy(
            "nm:s:X:qv",
            _MERGE,
            (
                ("F: file:", UNSEEN),
                ("S? gpg-sign?", "runs gpg"),
                ("s: strategy:", RUNS),
                ("no-verify", "skips the checks of the repository"),
            ),
        ),
        "pull": Policy(
            "rqvnt46a",
            _MERGE + " rebase? no-rebase all append dry-run prune no-tags tags depth: jobs: set-upstream",
            (*_OTHER_SIDE, ("f force", CHANGES), ("s: strategy:", RUNS), ("o: server-option:", SENDS)),
            _remotes,
        ),
        "rebase": Policy(
            "qvnm:X:",
            "onto: keep-base continue skip abort quit quiet verbose stat no-stat no-autosquash "
            "autosquash autostash no-autostash fork-point no-fork-point root rebase-merges? "
            "no-rebase-merges update-refs committer-date-is-author-date empty: keep-empty "
            "no-keep-empty reapply-cherry-picks signoff show-current-patch apply merge "
            "strategy-option: no-ff",
            (
                ("x: exec:", RUNS),
                ("i interactive edit-todo", "opens an editor"),
                ("s: strategy:", RUNS),
                ("S? gpg-sign?", "runs gpg"),
                ("no-verify", "skips the checks of the repository"),
            ),
        ),
        "cherry-pick": Policy(
            "xenm:sX:",
            "edit no-commit mainline: signoff continue skip abort quit ff allow-empty "
            "allow-empty-message keep-redundant-commits strategy-option:",
            (("S? gpg-sign?", "runs gpg"), ("strategy:", RUNS)),
        ),
        "revert": Policy(
            "enm:sX:",
            "edit no-edit no-commit mainline: signoff continue skip abort quit reference strategy-option:",
            (("S? gpg-sign?", "runs gpg"), ("strategy:", RUNS)),
        ),
        "push": Policy(
            "uqvn46",
            "set-upstream quiet verbose dry-run tags follow-tags porcelain progress "
            "no-progress all atomic no-atomic branches",
            (
                ("f force force-with-lease? force-if-includes mirror delete d prune", CHANGES),
                ("receive-pack: exec: repo:", RUNS),
                ("o: push-option: signed?", SENDS),
                ("no-verify", "skips the checks of the repository"),
            ),
            _pushes,
        ),
        "fetch": Policy(
            "qvptPnj:46a",
            "all append atomic depth: deepen: shallow-since: shallow-exclude: unshallow "
            "update-shallow dry-run prune prune-tags tags no-tags jobs: quiet verbose progress "
            "no-progress ipv4 ipv6 multiple porcelain write-fetch-head no-write-fetch-head "
            "set-upstream auto-maintenance no-auto-maintenance",
            (
                ("upload-pack: recurse-submodules? refmap: server-option: o: negotiation-tip:", RUNS),
                ("f force u update-head-ok", CHANGES),
                ("stdin", UNSEEN),
            ),
            _remotes,
        ),
        "clone": Policy(
            "qvnb:j:l",
            "quiet verbose progress no-checkout branch: depth: single-branch no-single-branch "
            "no-tags shallow-since: shallow-submodules filter: jobs: bare mirror sparse "
            "origin: no-hardlinks",
            (
                (
                    "u: upload-pack: c: config: template: reference: reference-if-able: "
                    "separate-git-dir: recurse-submodules? recursive remote-submodules o: "
                    "server-option: bundle-uri:",
                    RUNS,
                ),
            ),
            _clone,
        ),
        "remote": Policy("vn", "verbose all push", operands=first_is("show", "get-url")),
        "config": Policy(
            "lz",
            "get get-all get-regexp get-urlmatch list null name-only show-origin show-scope "
            "local global system worktree type: bool int path default: includes no-includes all",
            (
                ("e edit", "opens an editor"),
                ("f: file: blob:", SETTINGS),
                (
                    "add unset unset-all replace-all rename-section remove-section",
                    "changes a setting, and settings can name programs",
                ),
            ),
            _config,
        ),
        "symbolic-ref": Policy("q", "short quiet recurse no-recurse", operands=at_most(1)),
        "worktree": Policy("vz", "porcelain verbose", operands=first_is("list", bare=False)),
        "submodule": Policy("q", "quiet recursive cached", operands=first_is("status", "summary")),
        "notes": Policy("", "ref:", operands=first_is("list", "show")),
        "bisect": Policy(
            "",
            "",
            operands=first_is("log", "good", "bad", "reset", "start", "skip", "new", "old", bare=False),
        ),
        "sparse-checkout": Policy("", "", operands=first_is("list", bare=False)),
        "lfs": Policy("", "", operands=first_is("ls-files", "status", "env", "version")),
        "archive": Policy(
            "lv0",
            "format: prefix: list verbose worktree-attributes mtime:",
            (
                ("o: output:", WRITES),
                ("remote: exec:", RUNS),
                ("add-file: add-virtual-file:", "reads a further file"),
            ),
            numbers=True,
        ),
        "format-patch": Policy(
            "kns",
            "stdout no-stat cover-letter numbered subject-prefix: signoff",
            (("o: output-directory: output:", WRITES),),
            only_with(WRITES, "--stdout"),
        ),
        "gc": Policy(
            "q", "auto quiet no-prune keep-largest-pack", (("prune? aggressive force cruft", CHANGES),)
        ),
        "mergetool": "runs a program",
        "difftool": "runs a program",
        "filter-branch": "runs a program",
        "gui": "opens a window",
        "gitk": "opens a window",
        "instaweb": "opens a port",
        "daemon": "opens a port",
        "send-email": SENDS,
        "request-pull": "talks to another machine",
        "apply": Policy(
            "vp:R3",
            "stat numstat summary check verbose reverse index cached 3way whitespace:",
            (("unsafe-paths directory:", ELSEWHERE),),
            only_with("changes the files that a patch names", "--stat", "--numstat", "--summary", "--check"),
        ),
        "update-ref": CHANGES,
        "update-index": CHANGES,
        "hash-object": Policy("t:", "stdin stdin-paths path: no-filters literally", (("w", WRITES),)),
        "write-tree": CHANGES,
        "prune": CHANGES,
        "replace": CHANGES,
        "credential": "hands out passwords",
        "hook": "runs a program",
        "maintenance": "sets up later commands",
        "bundle": Policy("q", "quiet", operands=first_is("verify", "list-heads", bare=False)),
    },
    alone="",
)
