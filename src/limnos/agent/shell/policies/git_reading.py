"""What the reading subcommands of git may be told."""

from limnos.agent.shell.options import CHANGES, RUNS, UNSEEN, WRITES, Policy
from limnos.agent.shell.policies.targets import first_is_not

_DIFF_SHORTS = "pusU:zawbRDM?C?B?l:S:G:O:W"
_DIFF = (
    "patch no-patch unified: raw patch-with-raw patch-with-stat stat? numstat "
    "shortstat dirstat? summary name-only "
    "name-status color? no-color color-words? word-diff? word-diff-regex: color-moved? "
    "color-moved-ws: no-renames "
    "find-renames? find-copies? find-copies-harder irreversible-delete diff-filter: "
    "pickaxe-regex pickaxe-all "
    "ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines "
    "ignore-cr-at-eol inter-hunk-context: "
    "function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? "
    "submodule? src-prefix: dst-prefix: "
    "no-prefix line-prefix: minimal patience histogram diff-algorithm: anchored: "
    "full-index binary abbrev? no-abbrev "
    "relative? no-relative text check ws-error-highlight: cached staged merge-base "
    "compact-summary indent-heuristic "
    "no-indent-heuristic cc combined-all-paths relative-paths base ours theirs no-index help"
)
_DIFF_ASKS = (("output:", WRITES), ("ext-diff textconv", "runs programs that the repository names"))
_LOG = (
    " oneline graph decorate? no-decorate decorate-refs: decorate-refs-exclude: source "
    "follow log-size all branches? "
    "tags? remotes? glob: exclude: author: committer: grep: all-match invert-grep "
    "regexp-ignore-case extended-regexp "
    "fixed-strings perl-regexp basic-regexp merges no-merges min-parents: max-parents: "
    "first-parent max-count: skip: "
    "since: after: until: before: pretty? format: abbrev-commit no-abbrev-commit date: "
    "relative-date reverse date-order "
    "topo-order author-date-order walk-reflogs no-walk? full-history ancestry-path? simplify-merges "
    "simplify-by-decoration cherry cherry-pick cherry-mark left-only right-only "
    "left-right boundary notes? no-notes "
    "show-notes? show-linear-break? no-diff-merges diff-merges: remerge-diff encoding: use-mailmap mailmap "
    "no-expand-tabs expand-tabs? parents children dense sparse count reflog not stdin "
    "full-diff clear-decorations "
    "since-as-filter: show-pulls"
)
_LOG_POLICY = Policy(
    _DIFF_SHORTS + "n:giEFPmcqL:t", _DIFF + _LOG, (*_DIFF_ASKS, ("show-signature", "runs gpg")), numbers=True
)

READING: dict[str, Policy | str] = {
    "status": Policy(
        "sbuvzu?",
        "short branch no-branch show-stash porcelain? long verbose untracked-files? "
        "ignore-submodules? ignored? null column? no-column ahead-behind no-ahead-behind "
        "renames no-renames find-renames? help",
    ),
    "log": _LOG_POLICY,
    "show": _LOG_POLICY,
    "whatchanged": _LOG_POLICY,
    "reflog": _LOG_POLICY._replace(operands=first_is_not(CHANGES, "delete", "expire", "drop", "write")),
    "diff": Policy(_DIFF_SHORTS + "123q0", _DIFF, _DIFF_ASKS),
    "diff-tree": Policy(
        _DIFF_SHORTS + "rtvscm", _DIFF + " root stdin pretty? no-commit-id always format:", _DIFF_ASKS
    ),
    "diff-index": Policy(_DIFF_SHORTS + "m", _DIFF, _DIFF_ASKS),
    "diff-files": Policy(_DIFF_SHORTS + "q", _DIFF, _DIFF_ASKS),
    "range-diff": Policy(
        _DIFF_SHORTS, _DIFF + " creation-factor: no-dual-color left-only right-only", _DIFF_ASKS
    ),
    "shortlog": Policy(
        "nsecw?", "numbered summary email committer format: group: date: " + _LOG, numbers=True
    ),
    "blame": Policy(
        "blL:sS:tcpfnweM?C?h",
        "root show-stats reverse: first-parent porcelain line-porcelain incremental "
        "encoding: date: progress no-progress abbrev: show-name show-number show-email "
        "ignore-rev: color-lines color-by-age score-debug",
        (("contents: ignore-revs-file:", UNSEEN),),
    ),
    "annotate": Policy("bltL:"),
    "describe": Policy(
        "",
        "dirty? broken? all tags contains abbrev: candidates: exact-match debug long "
        "match: exclude: always first-parent",
    ),
    "rev-parse": Policy(
        "q",
        "verify quiet short? abbrev-ref? symbolic symbolic-full-name show-toplevel "
        "show-prefix show-cdup git-dir absolute-git-dir git-common-dir git-path: "
        "is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository "
        "show-object-format? all branches? tags? remotes? glob: revs-only no-revs flags "
        "no-flags default: prefix: sq not local-env-vars path-format: since: until: "
        "show-superproject-working-tree end-of-options",
    ),
    "rev-list": Policy(
        "n:",
        _LOG + " objects disk-usage? quiet header timestamp use-bitmap-index left-right object-names",
        numbers=True,
    ),
    "merge-base": Policy("a", "all octopus independent is-ancestor fork-point"),
    "name-rev": Policy("", "tags refs: exclude: all name-only always no-undefined"),
    "cat-file": Policy(
        "tspe",
        "batch? batch-check? batch-all-objects buffer unordered allow-unknown-type "
        "follow-symlinks path: use-mailmap",
        (("textconv filters", RUNS),),
    ),
    "ls-tree": Policy("drtlz", "long name-only name-status object-only full-name full-tree abbrev? format:"),
    "ls-files": Policy(
        "cdmoiskuztvfx:X:",
        "cached deleted modified others ignored stage unmerged killed directory "
        "no-empty-directory eol deduplicate exclude: exclude-from: exclude-per-directory: "
        "exclude-standard error-unmatch full-name recurse-submodules abbrev? format: "
        "with-tree: debug",
    ),
    "grep": Policy(
        "aivhHLlnrcopqwEFGPz0WA:B:C:m:e:f:I",
        "cached no-index untracked no-exclude-standard exclude-standard recurse-submodules "
        "text ignore-case word-regexp invert-match full-name extended-regexp basic-regexp "
        "fixed-strings perl-regexp line-number column files-with-matches name-only "
        "files-without-match only-matching count color? no-color break heading "
        "show-function function-context context: after-context: before-context: max-count: "
        "threads: and or not all-match quiet max-depth: recursive no-recursive null help",
        (("O? open-files-in-pager?", RUNS), ("textconv ext-grep", RUNS)),
        numbers=True,
    ),
    "cherry": Policy("v", "abbrev:"),
    "for-each-ref": Policy(
        "",
        "count: sort: format: color? points-at: merged? no-merged? contains? no-contains? "
        "ignore-case omit-empty exclude: shell perl python tcl",
    ),
    "show-ref": Policy("dsq", "head heads branches tags dereference hash? verify abbrev? quiet exists"),
    "show-branch": Policy(
        "ar",
        "all remotes current topo-order sparse more: list merge-base independent no-name "
        "sha1-name topics color? no-color",
    ),
    "var": Policy("l"),
    "count-objects": Policy("vH", "verbose human-readable"),
    "check-ignore": Policy("qvnz", "quiet verbose non-matching no-index stdin"),
    "check-attr": Policy("az", "all cached stdin"),
    "check-ref-format": Policy("", "branch normalize allow-onelevel"),
    "fsck": Policy(
        "",
        "full strict unreachable dangling no-dangling connectivity-only no-progress "
        "progress verbose root tags cache name-objects no-reflogs",
        (("lost-found", WRITES),),
    ),
    "verify-commit": Policy("v", "raw verbose"),
    "version": Policy("", "build-options"),
    "help": Policy("ag", "all guides config"),
}
