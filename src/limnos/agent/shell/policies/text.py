"""Programs that read, search, filter and compare text."""

from limnos.agent.shell.options import RUNS, UNSEEN, WRITES, Policy
from limnos.agent.shell.policies.targets import at_most, none_written_but_first, writes_all

_GREP = Policy(
    "EFGPce:f:hHiIlLm:noqrRsvwxyzZabTA:B:C:d:D:uU",
    "extended-regexp fixed-strings basic-regexp perl-regexp regexp: file: ignore-case "
    "no-ignore-case invert-match "
    "word-regexp line-regexp count color? colour? files-without-match "
    "files-with-matches max-count: only-matching "
    "quiet silent no-messages byte-offset with-filename no-filename label: line-number initial-tab null "
    "after-context: before-context: context: text binary-files: devices: directories: "
    "exclude: exclude-dir: "
    "exclude-from: include: recursive dereference-recursive line-buffered null-data "
    "help version group-separator: "
    "no-group-separator",
    numbers=True,
)
_RG = Policy(
    "e:f:g:t:T:A:B:C:E:M:m:j:r:d:sSivwxclLnNoHIpPqUuFa0bhV.",
    "regexp: file: glob: iglob: type: type-not: after-context: before-context: "
    "context: encoding: max-columns: "
    "max-count: threads: replace: max-depth: maxdepth: case-sensitive smart-case "
    "ignore-case invert-match word-regexp "
    "line-regexp count count-matches files-with-matches files-without-match files "
    "line-number no-line-number "
    "only-matching with-filename no-filename pretty pcre2 quiet multiline "
    "multiline-dotall unrestricted fixed-strings "
    "text null byte-offset help version hidden no-hidden no-ignore no-ignore-vcs "
    "no-ignore-parent no-ignore-global "
    "no-config color: colors: column heading no-heading json stats sort: sortr: trim "
    "vimgrep follow type-list "
    "passthru crlf max-filesize: no-messages one-file-system glob-case-insensitive max-columns-preview "
    "context-separator: field-match-separator: path-separator: line-buffered "
    "block-buffered auto-hybrid-regex engine: "
    "mmap no-mmap debug trace no-require-git ignore-file: ignore-file-case-insensitive "
    "include-zero null-data "
    "no-unicode no-pcre2-unicode regex-size-limit: dfa-size-limit: hyperlink-format: "
    "type-add: type-clear: stop-on-nonmatch",
    (
        ("pre: hostname-bin:", RUNS),
        ("z search-zip", "runs programs that unpack"),
        ("pre-glob:", "belongs to --pre"),
    ),
)
_FD = Policy(
    "HIuUsigFaplt:d:E:e:S:0c:j:hVL1q",
    "hidden no-ignore unrestricted no-ignore-vcs no-ignore-parent case-sensitive ignore-case glob regex "
    "fixed-strings and: absolute-path full-path follow max-depth: min-depth: "
    "exact-depth: exclude: type: extension: "
    "size: changed-within: changed-before: newer: older: owner: color: threads: print0 max-results: quiet "
    "show-errors base-directory: path-separator: search-path: strip-cwd-prefix? "
    "one-file-system prune list-details "
    "help version absolute relative-path ignore-file: min-buffer-time: hyperlink?",
    (("x exec: X exec-batch:", RUNS), ("batch-size:", "belongs to --exec-batch")),
)
_SORT = Policy(
    "bdfgiMhnRrVck:mst:uzCS:",
    "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort "
    "human-numeric-sort numeric-sort random-sort reverse sort: version-sort check? "
    "key: merge stable field-separator: "
    "unique zero-terminated help version parallel: buffer-size: debug batch-size: random-source:",
    (
        ("o: output:", WRITES),
        ("compress-program:", RUNS),
        ("T: temporary-directory:", "writes its temporary files elsewhere"),
        ("files0-from:", UNSEEN),
    ),
)
_DIFF = Policy(
    "abBcdeEfhHiI:lnNpPqrsS:tTuU:vwW:x:X:yC:F:D:L:Z",
    "normal brief report-identical-files context? unified? ed rcs side-by-side width: left-column "
    "suppress-common-lines show-c-function show-function-line: label: expand-tabs "
    "initial-tab tabsize: recursive "
    "no-dereference new-file unidirectional-new-file ignore-file-name-case exclude: "
    "exclude-from: starting-file: "
    "from-file: to-file: ignore-case ignore-tab-expansion ignore-trailing-space "
    "ignore-space-change ignore-all-space "
    "ignore-blank-lines ignore-matching-lines: text strip-trailing-cr ifdef: minimal horizon-lines: "
    "speed-large-files color? palette: help version",
    (("paginate", "runs the program pr"),),
    numbers=True,
)
_JQ = Policy(
    "RncrjaCMSesh",
    "raw-input null-input compact-output raw-output raw-output0 join-output ascii-output color-output "
    "monochrome-output sort-keys exit-status slurp stream stream-errors seq tab help version unbuffered "
    "arg: argjson: args jsonargs indent:",
    (
        ("f from-file", "takes its program from a file that nobody saw"),
        ("L: library-path:", "loads modules"),
        ("slurpfile: rawfile:", "reads a further file"),
    ),
)
_YQ = Policy(
    "erjyYPCMnNo:p:SchvVI:x",
    "exit-status raw-output colors no-colors prettyPrint output-format: input-format: "
    "null-input no-doc unwrapScalar "
    "compact-output sort-keys slurp help version yaml-output json-output indent: "
    "tojson expression: header-preprocess",
    (("i inplace in-place", "edits the file in place"), ("from-file: f:", UNSEEN), ("split-exp:", WRITES)),
)
_HEAD = Policy("n:c:qvz", "lines: bytes: quiet silent verbose zero-terminated help version", numbers=True)

POLICIES: dict[str, Policy] = {
    "cat": Policy(
        "AbeEnstTuv",
        "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version",
    ),
    "tac": Policy("brs:", "before regex separator: help version"),
    "nl": Policy(
        "b:d:f:h:i:l:n:ps:v:w:",
        "body-numbering: section-delimiter: footer-numbering: header-numbering: "
        "line-increment: join-blank-lines: number-format: no-renumber number-separator: "
        "starting-line-number: number-width: help version",
    ),
    "head": _HEAD,
    "tail": _HEAD._replace(
        shorts="n:c:qvzfFs:", longs=_HEAD.longs + " follow? pid: retry sleep-interval: max-unchanged-stats:"
    ),
    "wc": Policy("cmlLw", "bytes chars lines max-line-length words total: help version"),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "zgrep": _GREP._replace(longs=""),
    "rg": _RG,
    "ag": Policy(
        "aAcDfFgGiklLnoQqrRsSuUvVwzA:B:C:m:G:",
        "ackmate after? before? context? count files-with-matches files-without-matches "
        "ignore-case literal smart-case hidden depth: nocolor color nogroup group numbers "
        "nonumbers vimgrep word-regexp invert-match ignore: stats help version",
        (("pager:", RUNS),),
    ),
    "fd": _FD,
    "fdfind": _FD,
    "sort": _SORT,
    "uniq": Policy(
        "cdDf:is:uw:z",
        "count repeated all-repeated? skip-fields: ignore-case skip-chars: unique "
        "check-chars: zero-terminated group? help version",
        operands=none_written_but_first,
        numbers=True,
    ),
    "cut": Policy(
        "b:c:d:f:nsz",
        "bytes: characters: delimiter: fields: only-delimited complement output-delimiter: "
        "zero-terminated help version",
    ),
    "tr": Policy("cCdst", "complement delete squeeze-repeats truncate-set1 help version"),
    "paste": Policy("d:sz", "delimiters: serial zero-terminated help version"),
    "join": Policy(
        "a:e:i1:2:j:o:t:v:z", "ignore-case check-order nocheck-order header zero-terminated help version"
    ),
    "comm": Policy("123z", "check-order nocheck-order output-delimiter: total zero-terminated help version"),
    "diff": _DIFF,
    "diff3": Policy(
        "AeEi3mTxX", "merge text show-all easy-only label: help version", (("diff-program:", RUNS),)
    ),
    "colordiff": _DIFF,
    "cmp": Policy("bi:lsn:", "print-bytes ignore-initial: verbose silent quiet bytes: help version"),
    "column": Policy(
        "tns:o:c:x",
        "table separator: output-separator: fillrows table-columns: table-right: json help "
        "version output-width:",
    ),
    "fold": Policy("bsw:", "bytes spaces width: help version"),
    "fmt": Policy(
        "cstuw:p:g:",
        "crown-margin split-only tagged-paragraph uniform-spacing width: prefix: goal: help version",
        numbers=True,
    ),
    "expand": Policy("it:", "initial tabs: help version"),
    "unexpand": Policy("at:", "all first-only tabs: help version"),
    "rev": Policy("hV0", "help version zero"),
    "shuf": Policy(
        "ei:n:rz",
        "echo input-range: head-count: repeat zero-terminated random-source: help version",
        (("o: output:", WRITES),),
    ),
    "tsort": Policy("", "help version"),
    "pr": Policy("", "help version"),
    "look": Policy("dft:a", "help version"),
    "strings": Policy(
        "afn:t:e:wod", "all bytes: radix: encoding: print-file-name help version", numbers=True
    ),
    "od": Policy(
        "A:j:N:S:t:vw?abcdfilosx",
        "address-radix: skip-bytes: read-bytes: strings? format: output-duplicates width? "
        "endian: help version",
    ),
    "hexdump": Policy("bcCdn:os:vxe:", "canonical length: skip: no-squeezing help version"),
    "xxd": Policy("abc:Cdeg:hil:o:pPs:uvr", "help version", operands=at_most(1)),
    "base64": Policy("diw:", "decode ignore-garbage wrap: help version"),
    "base32": Policy("diw:", "decode ignore-garbage wrap: help version"),
    "md5sum": Policy(
        "bctwz", "binary check tag text zero ignore-missing quiet status strict warn help version"
    ),
    "cksum": Policy(
        "a:czw", "algorithm: check zero untagged tag length: help version raw base64 quiet status strict warn"
    ),
    "iconv": Policy(
        "f:t:cls", "from-code: to-code: list silent verbose help version usage", (("o: output:", WRITES),)
    ),
    "jq": _JQ,
    "yq": _YQ,
    "tee": Policy("aip", "append ignore-interrupts output-error? help version", operands=writes_all),
    "seq": Policy("f:s:w", "format: separator: equal-width help version", numbers=True),
    "numfmt": Policy(
        "d:z",
        "from: to: suffix: padding: field: format: grouping header? invalid: round: "
        "delimiter: from-unit: to-unit: debug help version",
    ),
    "expr": Policy("", "help version"),
    "factor": Policy("h", "exponents help version"),
    "bc": Policy("lqshv", "mathlib quiet standard help version interactive warn", operands=at_most(0)),
    "dos2unix": Policy("hVi?", "help version info?", operands=writes_all),
    "unix2dos": Policy("hVi?", "help version info?", operands=writes_all),
    "cloc": Policy(
        "",
        "by-file by-percent: csv json md yaml quiet version help exclude-dir: "
        "include-lang: exclude-lang: vcs: git",
    ),
    "tokei": Policy(
        "fhcCVe:s:t:o:", "files hidden help version exclude: sort: type: output: compact no-ignore"
    ),
    "scc": Policy("wi:hm", "by-file help version no-cocomo format: include-ext: exclude-dir: sort:"),
    "bat": Policy(
        "pnAl:H:r:hVud",
        "plain number show-all language: highlight-line: line-range: style: theme: color: "
        "decorations: paging: wrap: tabs: list-languages list-themes help version diff",
        (
            ("pager: P", RUNS),
            ("map-syntax: m:", "changes how files are read"),
            ("config-file", "shows its settings"),
        ),
    ),
}
POLICIES["batcat"] = POLICIES["bat"]
POLICIES["shasum"] = POLICIES["md5sum"]._replace(
    shorts="a:bcpstUw", longs="algorithm: " + POLICIES["md5sum"].longs
)
for _name in ("sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"):
    POLICIES[_name] = POLICIES["md5sum"]
for _name in ("zcat", "bzcat", "xzcat", "zstdcat"):
    POLICIES[_name] = Policy("fhLV", "force help version")
