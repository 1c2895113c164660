"""Programs about files and the machine: listing them, and the ones whose purpose is to change them."""

import re

from limnos.agent.shell.options import CHANGES, RUNS, SETTINGS, WRITES, Call, Options, Policy
from limnos.agent.shell.policies.targets import (
    copies,
    links,
    moves,
    no_operands,
    unseen,
    writes_all,
    writes_behind_first,
    writing_fault,
)

_HELP = "help version"
_SPECIAL_BITS = re.compile(r"[+=][^+=-]*[st]|(^|[+=])0*[1-7][0-7]{3}")


def _mode_fault(mode: str) -> str:
    special = any(_SPECIAL_BITS.search(part) for part in mode.split(","))
    return f"sets a set-user, set-group or sticky bit ({mode})" if special else ""


def _mode(call: Call, options: Options) -> str:
    if options.values.keys() & {"-r", "-w", "-x", "-X", "-s", "-t"}:  # rights that are taken away
        return writes_all(call, options)
    first = options.operands[0] if options.operands else ""
    return _mode_fault(first) or writes_behind_first(call, options)


def _made_with_mode(call: Call, options: Options) -> str:
    modes = options.values.get("-m", []) + options.values.get("--mode", [])
    return next((fault for mode in modes if (fault := _mode_fault(mode))), "") or writes_all(call, options)


def _dd(call: Call, options: Options) -> str:
    targets = [operand[3:] for operand in options.operands if operand.startswith("of=")]
    return writing_fault(call, targets)


def _install_mode(call: Call, options: Options) -> str:
    modes = options.values.get("-m", []) + options.values.get("--mode", [])
    return next((fault for mode in modes if (fault := _mode_fault(mode))), "") or copies(call, options)


def _date(call: Call, options: Options) -> str:
    del call
    odd = next((operand for operand in options.operands if not operand.startswith("+")), "")
    return "sets the clock" if odd else ""


def _rsync(call: Call, options: Options) -> str:
    remote = next((one for one in options.operands if ":" in one.split("/")[0]), "")
    return f"copies from or to another machine ({remote})" if remote else copies(call, options)


def _hostname(call: Call, options: Options) -> str:
    del call
    return "changes the name of the machine" if options.operands else ""


def _split(call: Call, options: Options) -> str:
    return unseen(call) or writing_fault(call, options.operands[1:])


def _csplit(call: Call, options: Options) -> str:
    return writing_fault(call, options.values.get("-f", []))


_LS = Policy(
    "aAbBcCdDfFgGhHiI:klLmnNopqQrRsStT:uUvw:xXZ1",
    "all almost-all author escape block-size: ignore-backups color? directory dired "
    "classify? file-type format: "
    "full-time group-directories-first no-group human-readable si "
    "dereference-command-line hide: hyperlink? "
    "indicator-style: inode ignore: kibibytes dereference numeric-uid-gid literal "
    "hide-control-chars show-control-chars "
    "quote-name quoting-style: reverse recursive size sort: time: time-style: tabsize: width: context zero "
    "dereference-command-line-symlink-to-dir " + _HELP,
)
_PS = Policy(
    "aAcCdeEfFg:GhHjkKlLmMNnoOp:PqrsStTuUvVwWxXyZ",
    "forest no-headers headers sort: format: pid: ppid: user: User: cols: columns: width: " + _HELP,
)
_CP = Policy(
    "abdfHilLnPpRrsS:t:TuvxZ",
    "archive attributes-only backup? copy-contents force interactive link dereference "
    "no-clobber no-dereference preserve? "
    "no-preserve: parents recursive reflink? remove-destination sparse: "
    "strip-trailing-slashes symbolic-link suffix: "
    "target-directory: no-target-directory update? verbose one-file-system " + _HELP,
    operands=copies,
)
_CHANGE_OWNER = Policy(
    "cfvRhHLP",
    "changes silent quiet verbose recursive dereference no-dereference preserve-root from: " + _HELP,
    (("reference: no-preserve-root", CHANGES),),
    writes_behind_first,
)

POLICIES: dict[str, Policy] = {
    "ls": _LS,
    "dir": _LS,
    "vdir": _LS,
    "exa": Policy(
        "1lGxRTFadLDrhgiHmuUs:t:@S",
        "oneline long grid across recurse tree all level: icons sort: reverse git header "
        "group inode links size time: color: only-dirs group-directories-first git-ignore "
        "classify binary bytes " + _HELP,
    ),
    "tree": Policy(
        "adfilxL:P:I:pughDsFqNQCnrtcvUSAJX",
        "noreport charset: dirsfirst gitignore prune matchdirs filelimit: timefmt: du si "
        "inodes device sort? filesfirst fromfile ignore-case noreport " + _HELP,
        (("o: R", WRITES),),
    ),
    "stat": Policy("Lfc:t", "dereference file-system format: printf: terse cached: " + _HELP),
    "file": Policy(
        "bcde:E F:hiklLnNprsSvz0",
        "brief mime mime-type mime-encoding dereference no-dereference keep-going no-pad "
        "separator: extension print0 uncompress preserve-date raw special-files exclude: " + _HELP,
        (("C compile m: magic-file: f: files-from:", SETTINGS), ("P: parameter:", "changes its limits")),
    ),
    "du": Policy(
        "0aB:bcDd:HhkLlmPSst:xX:",
        "null all apparent-size block-size: bytes total dereference-args max-depth: "
        "human-readable inodes count-links one-file-system summarize si separate-dirs "
        "threshold: time? time-style: exclude: exclude-from: dereference no-dereference " + _HELP,
        (("files0-from:", SETTINGS),),
    ),
    "df": Policy(
        "aB:HhiklPt:Tx:v",
        "all block-size: human-readable si inodes local no-sync output? portability "
        "print-type total type: exclude-type: " + _HELP,
    ),
    "pwd": Policy("LP", "logical physical " + _HELP),
    "realpath": Policy(
        "eEmLPqsz",
        "canonicalize-existing canonicalize-missing logical physical quiet relative-to: "
        "relative-base: strip no-symlinks zero " + _HELP,
    ),
    "readlink": Policy(
        "femnqsvz",
        "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent "
        "verbose zero " + _HELP,
    ),
    "basename": Policy("as:z", "multiple suffix: zero " + _HELP),
    "dirname": Policy("z", "zero " + _HELP),
    "pathchk": Policy("pP", _HELP),
    "namei": Policy("xmolv", _HELP),
    "lsattr": Policy("RVadlpv"),
    "getfacl": Policy("aceEsRLPtpnd", _HELP),
    "cp": _CP,
    "mv": Policy(
        "bfinS:t:Tuv",
        "backup? force interactive no-clobber no-copy strip-trailing-slashes suffix: "
        "target-directory: no-target-directory update? verbose " + _HELP,
        operands=moves,
    ),
    "rm": Policy(
        "fiIrRdv",
        "force interactive? one-file-system preserve-root? recursive dir verbose " + _HELP,
        (("no-preserve-root", "lets it delete the root folder"),),
        writes_all,
    ),
    "rmdir": Policy("pv", "ignore-fail-on-non-empty parents verbose " + _HELP, operands=writes_all),
    "unlink": Policy("", _HELP, operands=writes_all),
    "mkdir": Policy("m:pvZ", "mode: parents verbose " + _HELP, operands=_made_with_mode),
    "mkfifo": Policy("m:Z", "mode: " + _HELP, operands=_made_with_mode),
    "link": Policy("", _HELP, operands=writes_all),
    "touch": Policy(
        "acd:fhmr:t:", "date: no-dereference reference: time: no-create " + _HELP, operands=writes_all
    ),
    "mktemp": Policy(
        "dqut", "directory dry-run quiet suffix: " + _HELP, (("p: tmpdir?", "writes elsewhere"),), writes_all
    ),
    "ln": Policy(
        "bfinrsS:t:TvLP",
        "backup? force interactive no-dereference relative symbolic suffix: "
        "target-directory: no-target-directory verbose logical physical " + _HELP,
        (("d F directory", "links folders"),),
        links,
    ),
    "install": Policy(
        "bCcdDg:m:o:pS:t:TvZ",
        "backup? compare directory group: mode: owner: preserve-timestamps suffix: "
        "target-directory: no-target-directory verbose " + _HELP,
        (("s strip strip-program:", RUNS),),
        _install_mode,
    ),
    "sponge": Policy("a", "", operands=writes_all),
    "truncate": Policy("cor:s:", "no-create io-blocks reference: size: " + _HELP, operands=writes_all),
    "fallocate": Policy(
        "l:o:nvxzpc",
        "length: offset: keep-size verbose posix zero-range punch-hole " + _HELP,
        operands=writes_all,
    ),
    "split": Policy(
        "a:b:C:de:l:n:t:ux",
        "suffix-length: additional-suffix: bytes: line-bytes: numeric-suffixes? "
        "hex-suffixes? elide-empty-files lines: number: separator: unbuffered verbose " + _HELP,
        (("filter:", RUNS),),
        _split,
    ),
    "csplit": Policy("b:f:kn:sqz", _HELP, operands=_csplit),
    "chmod": Policy(
        "cfvRrwxXst",
        "changes silent quiet verbose recursive preserve-root " + _HELP,
        (("reference: no-preserve-root", CHANGES),),
        _mode,
    ),
    "chown": _CHANGE_OWNER,
    "chgrp": _CHANGE_OWNER,
    "setfacl": Policy("", _HELP),
    "chattr": Policy("", _HELP),
    "dd": Policy("", _HELP, operands=_dd),
    "rsync": Policy(
        "avzrhnpogtDqcuHAXxSWPik",
        "archive verbose compress recursive human-readable dry-run progress stats quiet "
        "checksum update perms owner group times links exclude: include: exclude-from: "
        "size-only info: itemize-changes partial inplace whole-file no-perms no-owner "
        "no-group chmod: max-size: min-size: " + _HELP,
        (
            ("e: rsh: rsync-path: remote-option: M: daemon config:", RUNS),
            (
                "delete delete-after delete-before delete-during delete-delay delete-excluded del "
                "remove-source-files remove-sent-files",
                CHANGES,
            ),
            ("log-file: write-batch: only-write-batch: backup-dir: temp-dir: T: partial-dir:", WRITES),
            ("files-from: read-batch: password-file: filter: f: F", SETTINGS),
            (
                "copy-links L copy-unsafe-links copy-dirlinks keep-dirlinks K copy-dest: "
                "link-dest: compare-dest: devices write-devices",
                "follows links out of the folder",
            ),
        ),
        _rsync,
    ),
    "sync": Policy("df", "data file-system " + _HELP),
    "shred": Policy(
        "fn:s:uvxz", "force iterations: size: remove? verbose exact zero " + _HELP, operands=writes_all
    ),
    "date": Policy(
        "d:f:I?Rur:",
        "date: file: iso-8601? rfc-email rfc-3339: reference: universal utc debug " + _HELP,
        (("s: set:", "sets the clock"),),
        _date,
    ),
    "cal": Policy("13jmswyn:ABC", _HELP),
    "id": Policy("agGnruzZ", "group groups name real user zero context " + _HELP),
    "whoami": Policy("", _HELP),
    "groups": Policy("", _HELP),
    "who": Policy("abdHlmpqrstTu", "all boot count heading " + _HELP),
    "w": Policy("hsfio", _HELP),
    "users": Policy("", _HELP),
    "logname": Policy("", _HELP),
    "uname": Policy(
        "asnrvmpio",
        "all kernel-name nodename kernel-release kernel-version machine processor operating-system " + _HELP,
    ),
    "arch": Policy("", _HELP),
    "hostname": Policy(
        "adfiIsAy",
        "alias domain fqdn long ip-address all-ip-addresses short " + _HELP,
        (("F: file: b boot", "changes the name of the machine"),),
        _hostname,
    ),
    "nproc": Policy("", "all ignore: " + _HELP),
    "uptime": Policy("ps", "pretty since " + _HELP),
    "free": Policy("bkmghtlwvs:c:", "bytes kibi mebi gibi human total wide lohi seconds: count: si " + _HELP),
    "vmstat": Policy("afmnsdtwS:", _HELP),
    "iostat": Policy("cdhkmNptxyz", _HELP),
    "lscpu": Policy("aebcJpxyC", "all extended? json parse? caches " + _HELP),
    "lsblk": Policy(
        "abdfiJlmno:pPrstzT",
        "all bytes nodeps fs json list output: paths pairs raw scsi tree topology perms " + _HELP,
    ),
    "lspci": Policy("vnkmtxsqD", _HELP),
    "lsusb": Policy("vts:d:", _HELP),
    "lsof": Policy("i?Pnabc:d:hlop:s?tu:UvRg?F?r?+D", _HELP),
    "lsmod": Policy(),
    "dmesg": Policy(
        "HLTtxkuwe", "human ctime level: facility: follow color? decode kernel userspace " + _HELP
    ),
    "ps": _PS,
    "pgrep": Policy(
        "afilnoPtuUvx", "list-full list-name full ignore-case newest oldest exact count " + _HELP
    ),
    "pstree": Policy("aAchlnpsStuUgG", _HELP),
    "pidof": Policy("sqcx", _HELP),
    "top": Policy("bcHi1Sn:d:o:p:u:w?ehv", _HELP),
    "printenv": Policy("0", "null " + _HELP),
    "locale": Policy("ackmv", _HELP),
    "tty": Policy("s", _HELP),
    "getconf": Policy("a", _HELP),
    "getent": Policy("s:i", _HELP),
    "nm": Policy(
        "aCDgnopPrSuvABt:f:",
        "demangle? dynamic defined-only undefined-only extern-only print-size size-sort "
        "numeric-sort " + _HELP,
    ),
    "size": Policy("ABtdxo", _HELP),
    "objdump": Policy("adDfhprsStTxCj:M:lwgGeiR", "disassemble syms headers " + _HELP),
    "readelf": Policy("aehlSgtsnrudVADx:p:cwWI", _HELP),
    "sleep": Policy("", _HELP),
    "true": Policy("", _HELP),
    "false": Policy("", _HELP),
    "clear": Policy("xV"),
    "which": Policy("as", "all " + _HELP),
    "whereis": Policy("bmsluf", _HELP),
    "tput": Policy("VST:", operands=None),
    "yes": Policy("", _HELP),
    "logger": Policy("t:p:is", "tag: priority: id stderr " + _HELP),
    "notify-send": Policy("u:t:a:i:", "urgency: expire-time: app-name: icon: " + _HELP),
    "cowsay": Policy("bdgpstwyne:T:W:"),
    "figlet": Policy("clrw:tkWoSs"),
    "arp": Policy("an", _HELP),
    "locate": Policy(
        "AbcdeiLlmnPpqrSsw0", "all basename count existing ignore-case limit: regex regexp " + _HELP
    ),
    "apropos": Policy("", _HELP),
    "whatis": Policy("", _HELP),
    "cmake": Policy("", "version help", operands=no_operands),
    "ss": Policy("natulpsrexo46miH", "numeric listening tcp udp processes all summary extended " + _HELP),
    "netstat": Policy("antulprsiegvW46", _HELP),
    "nvidia-smi": Policy("Lqi:"),
}
POLICIES["eza"] = POLICIES["exa"]
