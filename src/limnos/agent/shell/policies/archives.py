"""Archives: listing, packing and unpacking inside the working folder."""

from limnos.agent.shell.options import ELSEWHERE, RUNS, UNSEEN, WRITES, Call, Options, Policy
from limnos.agent.shell.policies.targets import unseen, writes_all, writing_fault

_LISTS = frozenset({"-t", "--list", "-d", "--diff", "--compare"})


def _tar(call: Call, options: Options) -> str:
    archives = options.values.get("-f", []) + options.values.get("--file", [])
    if any(":" in archive.split("/")[0] for archive in archives):
        return "talks to another machine"
    if options.values.keys() & _LISTS:
        return ""
    if options.values.keys() & {"-x", "--extract", "--get"}:
        folders = options.values.get("-C", []) + options.values.get("--directory", [])
        return unseen(call) or writing_fault(call, folders or ["."], "unpacks to")
    return unseen(call) or writing_fault(call, archives)


def _unzip(call: Call, options: Options) -> str:
    if options.values.keys() & {"-l", "-t", "-v", "-Z", "-p", "-c", "-z"}:
        return ""
    return unseen(call) or writing_fault(call, options.values.get("-d", ["."]), "unpacks to")


def _zip(call: Call, options: Options) -> str:
    """Two letters can be one flag: `-lf FILE` writes a log."""
    if any(word.startswith("-") and "lf" in word.lower() for word in call.args):
        return "writes a log"
    return unseen(call) or writing_fault(call, options.operands[:1])


def _replaces(call: Call, options: Options) -> str:
    reads = {"-l", "--list", "-t", "--test", "-c", "--stdout", "--to-stdout"}
    return "" if options.values.keys() & reads else writes_all(call, options)


def _unrar(call: Call, options: Options) -> str:
    del call
    return (
        "" if options.operands[:1] in (("l",), ("v",), ("t",), ("lb",)) else "writes what the archive names"
    )


def _ar(call: Call, options: Options) -> str:
    del call
    return "" if options.operands and set(options.operands[0]) <= set("tvp") else WRITES


def _seven(call: Call, options: Options) -> str:
    action = options.operands[0] if options.operands else ""
    if action in ("l", "t", "i", "h", ""):
        return ""
    return writing_fault(call, options.operands[1:2]) if action == "a" else "writes what the archive names"


_GZIP = Policy(
    "cdfhklLnNqrtvV",
    "stdout to-stdout decompress uncompress force help keep list license no-name name "
    "quiet recursive "
    "test verbose version fast best rsyncable synchronous threads: extreme",
    (("S: suffix:", "names its files otherwise"),),
    _replaces,
    numbers=True,
    judges_unseen=True,
)
_TAR = Policy(
    "cxtruAdf:vzjJaZpkmoOhlWwSnRb:C:X:",
    "create extract get list append update concatenate diff compare file: verbose gzip "
    "gunzip ungzip bzip2 xz zstd lzma "
    "lzip auto-compress keep-old-files keep-newer-files skip-old-files overwrite preserve-permissions "
    "same-permissions no-same-permissions no-same-owner same-owner numeric-owner touch "
    "to-stdout dereference hard-dereference "
    "one-file-system verify sparse strip-components: exclude: exclude-from: "
    "exclude-vcs exclude-vcs-ignores "
    "exclude-backups exclude-caches wildcards no-wildcards anchored no-anchored "
    "ignore-case null no-recursion recursion "
    "totals show-transformed-names mtime: sort: owner: group: mode: format: posix "
    "block-number full-time directory: "
    "wildcards-match-slash help version utc warning: ignore-failed-read "
    "blocking-factor: delay-directory-restore newer: "
    "xattrs no-xattrs acls no-acls selinux no-selinux",
    (
        (
            "to-command: checkpoint-action: use-compress-program: I: F: info-script: "
            "new-volume-script: rsh-command: rmt-command:",
            RUNS,
        ),
        ("remove-files delete recursive-unlink unlink-first U", "deletes files"),
        ("P absolute-names transform: xform: s: one-top-level? keep-directory-symlink", ELSEWHERE),
        ("T: files-from: add-file:", UNSEEN),
        (
            "checkpoint? M multi-volume L: tape-length: g: listed-incremental: index-file: "
            "volno-file: V: label: K: G force-local i",
            "is not known to be harmless",
        ),
    ),
    _tar,
    judges_unseen=True,
)


def _bundled(args: tuple[str, ...]) -> tuple[str, ...]:
    """Old letters without a dash: their values follow in order."""
    if not args or args[0].startswith("-") or not args[0]:
        return args
    words = list(args[1:])
    spread: list[str] = []
    for letter in args[0]:
        takes = letter in "fbCXTIFLgVKN"
        spread.append("-" + letter)
        if takes and words:
            spread.append(words.pop(0))
    return (*spread, *words)


def spread_tar(call: Call) -> Call:
    """`tar xzf a.tgz` with dashes."""
    return call._replace(args=_bundled(call.args))


POLICIES: dict[str, Policy] = {
    "tar": _TAR,
    "bsdtar": _TAR._replace(longs="list extract create file: verbose"),
    "gzip": _GZIP,
    "gunzip": _GZIP,
    "bzip2": _GZIP,
    "bunzip2": _GZIP,
    "pigz": _GZIP._replace(shorts="cdfhklLnNqrtvVp:b:"),
    "xz": Policy(
        "zdtlkfcqvehT:0",
        _GZIP.longs + " compress single-stream no-sparse format: check: memlimit: robot info-memory",
        (("files? files0? suffix: S:", UNSEEN),),
        _replaces,
        numbers=True,
        judges_unseen=True,
    ),
    "unxz": _GZIP,
    "zstd": Policy(
        "dkfcqvtlhT:rz",
        _GZIP.longs + " compress ultra long? no-check progress no-progress",
        (("o: output-dir-flat: output-dir-mirror: D: train B: rm filelist:", WRITES),),
        _replaces,
        numbers=True,
        judges_unseen=True,
    ),
    "unzstd": Policy("kfcqvtl", _GZIP.longs, (("o: rm", WRITES),), _replaces, judges_unseen=True),
    "lz4": Policy("dkfcqvtlh", "", (("rm", "deletes files"),), _replaces, True, judges_unseen=True),
    "zip": Policy(
        "rqvjDyuf0x:i:eXFlnS9o",
        "recurse-paths quiet verbose junk-paths no-dir-entries symlinks update freshen "
        "exclude: include: no-extra help version out: show-files",
        (
            ("TT: unzip-command: T test", RUNS),
            ("m move d delete", "deletes files"),
            ("b: temp-path: O: output-file: lf: logfile-path: s: split-size:", WRITES),
            ("P: password:", "shows a password"),
        ),
        _zip,
        numbers=True,
    ),
    "unzip": Policy(
        "lvtzZpcqnojaLCd:x:h",
        "",
        (("P:", "shows a password"), (": ^ K X", ELSEWHERE)),
        _unzip,
        judges_unseen=True,
    ),
    "zipinfo": Policy("12lsmvhtTzMC"),
    "7z": Policy("", "", (), _seven),
    "unrar": Policy(
        "",
        "",
        (),
        _unrar,
    ),
    "ar": Policy(
        "",
        "",
        (),
        _ar,
    ),
    "cpio": Policy("tv", "list verbose quiet"),
}
