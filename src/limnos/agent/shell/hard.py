"""Hard denials: what no mode, rule or person lifts. The refusal says what, and what to do instead."""

import re
from collections.abc import Iterable, Iterator

from limnos.agent.shell.options import Call, Policy, read_options
from limnos.agent.shell.place import Place, has_pattern, is_within, meanings, normal, reaches_state
from limnos.agent.shell.policies.archives import spread_tar
from limnos.agent.shell.policies.find import read_search
from limnos.agent.shell.policies.unsafe import is_interpreter
from limnos.agent.shell.tables import names
from limnos.kernel.messages import ToolError

_WHOLE = names(
    "bin boot dev etc lib lib32 lib64 libx32 media mnt opt proc root run sbin snap srv "
    "sys tmp usr var home nix "
    "applications library system users volumes private"
)
_DEEP = names("bin boot dev etc lib lib32 lib64 libx32 proc sbin sys")
_SECOND = frozenset({"usr", "var", "home"})
_DISK = re.compile(
    r"/dev/(sd[a-z*?\[]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|dm-\d|md\d|mapper/|disk/|r?disk\d|nbd\d|sr\d|mtd|pmem\d|zd\d|mem$|kmem$|port$)"
)
_FORMATTERS = re.compile(
    r"(mkfs(\..+)?|mke2fs|mkswap|mkdosfs|mkntfs|newfs.*|wipefs|blkdiscard|sfdisk|cfdisk|fdisk|gdisk|sgdisk|parted|partprobe"
    r"|cryptsetup|pvcreate|vgremove|lvremove|pvremove|mdadm|badblocks|zpool|hdparm|nvme|diskutil|shred|mkudffs|make-bcache|tune2fs|dd_rescue|ddrescue|nwipe|scrub|wipe)"
)
_LOOKS = frozenset(
    {"-l", "--list", "print", "list", "info", "status", "-V", "--version", "--help", "-h", "--print"}
)
_LOOKS_OF: dict[str, frozenset[str]] = {
    "sfdisk": frozenset({"-d", "--dump", "-J", "--json", "-n"}),
    "sgdisk": frozenset({"-p", "-i"}),
    "hdparm": frozenset({"-I", "-i", "-t", "-T", "-g"}),
    "cryptsetup": frozenset({"luksDump", "isLuks"}),
    "mdadm": frozenset({"-D", "--detail", "-E", "--examine"}),
}
_POWER = frozenset(
    {"shutdown", "reboot", "halt", "poweroff", "telinit", "pm-suspend", "pm-hibernate", "pm-powersave"}
)
_POWER_ACTIONS = names(
    "poweroff reboot halt suspend hibernate hybrid-sleep suspend-then-hibernate kexec "
    "soft-reboot rescue emergency "
    "poweroff.target reboot.target halt.target rescue.target emergency.target shutdown.target exit"
)
_ASKS_ONLY = frozenset({"--help", "--version", "-c", "--show", "-h?", "list-jobs"})
_KERNEL_FILES = ("/proc/sysrq-trigger", "/proc/sys/kernel/sysrq", "/sys/power/state", "/sys/power/disk")
_RM = Policy(
    "fiIrRdvWPx",
    "force interactive? one-file-system preserve-root? no-preserve-root recursive dir verbose help version",
)
_TEXT_ONLY = frozenset(
    {"echo", "printf", ":", "true", "false", "basename", "dirname", "logger", "notify-send"}
)
_PATTERN_FIRST = frozenset(
    {"grep", "egrep", "fgrep", "rg", "ag", "zgrep", "sed", "gsed", "awk", "gawk", "jq", "yq", "tr", "expr"}
)
_GIVES_PATTERN = re.compile(r"-[A-Za-z]*[ef]|--(regexp|file|expression|from-file)")
_TREE_REMOVERS = re.compile(
    r"rmtree|rm_rf|rm_r\b|rmSync|rmdirSync|remove_tree|removeSync|deltree|remove_dir_all|RemoveAll|delete-directory"
)
_FORKS = re.compile(
    r"fork.{0,40}\bwhile\b|\bwhile\b.{0,60}fork|\bloop\b.{0,40}fork|for\s*\(\s*;\s*;\s*\).{0,40}fork|forever.{0,40}fork",
    re.DOTALL,
)
_OWN_COMMANDS = frozenset({"approvals", "approval", "secrets", "secret", "rules"})
_OWN_CHANGES = frozenset({"set", "unset", "edit", "add", "remove", "import", "reset"})


def refuse(what: str, instead: str) -> ToolError:
    """A denial that nothing lifts."""
    return ToolError("refused", what, instead)


def call_denial(call: Call) -> ToolError | None:
    """The hard denial of one command, None when there is none."""
    return (
        _state(call)
        or _deletion(call)
        or _disk(call)
        or _power(call)
        or _own_rules(call)
        or _program_text(call)
    )


def file_denial(path: str, place: Place, folders: tuple[str, ...]) -> ToolError | None:
    """The hard denial of a redirection to `path`."""
    paths = meanings(path, place, folders)
    if reaches_state(paths, place):
        return _state_error()
    for absolute in paths.absolute:
        if _DISK.match(absolute):
            return refuse(
                f"{absolute} is a disk; writing to it destroys what is on it", "write to a file instead"
            )
        if absolute in _KERNEL_FILES:
            return refuse(f"{absolute} stops the machine", "leave it to the person")
    return None


def _state_error() -> ToolError:
    return refuse(
        "limnos' own state (settings, secrets, logs, journals) cannot be reached by a command",
        "use the tools of limnos for what you need to know; a person changes its settings",
    )


def _state(call: Call) -> ToolError | None:
    if call.name in _TEXT_ONLY:
        return None
    for word in _without_pattern(call):
        for path in _paths_in(word):
            if reaches_state(meanings(path, call.place, call.folders), call.place):
                return _state_error()
    return None


def _without_pattern(call: Call) -> list[str]:
    """The words without the one that is searched for or a script. With flags that give it, all words."""
    words = list(call.args)
    if call.name in _PATTERN_FIRST and not any(_GIVES_PATTERN.match(word) for word in words):
        operands = [place for place, word in enumerate(words) if not word.startswith("-")]
        if len(operands) > 1:
            del words[operands[0]]
    return words


def _paths_in(word: str) -> Iterator[str]:
    """Where a path may start in a word: at its start, behind `=`, `@`, `:` or `,`, behind a short flag."""
    if not word:
        return
    yield word
    if word.startswith("-") and len(word) > 2:
        yield word[2:]
    for sign in ("=", "@", ":", ","):
        if sign in word:
            yield from (piece for piece in word.split(sign)[1:] if piece)
    if word.startswith("file://"):
        yield word[7:]


def removes_tree(path: str, place: Place, folders: tuple[str, ...]) -> str:
    """The folder of the system or the home whose whole tree `path` names; "" when it is none."""
    for absolute in meanings(path, place, folders).absolute:
        if found := _whole_tree(absolute, place):
            return found
    return ""


def _whole_tree(absolute: str, place: Place) -> str:
    folded = absolute.casefold()
    while True:
        head, _, last = folded.rpartition("/")
        if not last or not _takes_all(last):
            break
        folded = head or "/"
    folded = normal(folded or "/")
    homes = {place.home.casefold(), place.resolve(place.home).casefold()}
    if folded == "/" or folded in homes or any(is_within(home, folded) for home in homes if folded != "/"):
        return absolute
    if has_pattern(folded) and any(
        is_within(folded, home) and folded.count("/") == home.count("/") for home in homes
    ):
        return absolute
    if is_within(place.state.casefold(), folded):
        return absolute
    parts = folded.split("/")[1:]
    if not _is_system(parts[0]):
        return ""
    if len(parts) == 1 or parts[0] in _DEEP or (len(parts) == 2 and parts[0] in _SECOND):
        return absolute
    return (
        absolute if len(parts) == 3 and parts[:2] == ["usr", "local"] and parts[2] in ("bin", "lib") else ""
    )


def _takes_all(pattern: str) -> bool:
    """`*`, `.*`, `[!.]*`, `.??*`: names of (nearly) everything in a folder."""
    return has_pattern(pattern) and not re.sub(r"\[[^]]*\]", "", pattern).strip("*.?")


def _is_system(name: str) -> bool:
    if not has_pattern(name):
        return name in _WHOLE
    return any(is_within("/" + name, "/" + whole) for whole in _WHOLE)


def _deletion(call: Call) -> ToolError | None:
    for path in _deleted(call):
        if found := removes_tree(path, call.place, call.folders):
            return refuse(
                f"this deletes all of {found}, a folder of the system or the home",
                "delete only what you made, by its full name below the working folder",
            )
    return None


def _deleted(call: Call) -> Iterable[str]:
    """The paths whose whole tree goes."""
    if call.name in ("rm", "srm", "grm", "trash", "trash-put", "rmtrash"):
        options = read_options(_RM, call.args)
        recursive = call.name != "rm" or options.values.keys() & {"-r", "-R", "--recursive"}
        abbreviated = any(word.startswith("--r") and "--recursive".startswith(word) for word in call.args)
        return options.operands if recursive or abbreviated else ()
    if call.name == "find":
        return _found(call)
    if call.name == "rsync" and any(word.startswith("--del") for word in call.args):
        return call.args[-1:]
    if call.name == "tar" and "--remove-files" in call.args:
        return [word for word in spread_tar(call).args if not word.startswith("-")]
    if call.name == "mv":
        operands = [word for word in call.args if not word.startswith("-")]
        return operands[:-1]
    return ()


def _found(call: Call) -> Iterable[str]:
    search = read_search(call.args)
    removes = search.deletes or any(_is_removal(call.args[first:last]) for first, last in search.commands)
    return search.roots if removes and not search.narrow else ()


def _is_removal(words: tuple[str, ...]) -> bool:
    """`rm` behind any wrapper; a shell line with rm in it."""
    names = [word.rpartition("/")[2] for word in words]
    return any(name in ("rm", "unlink", "shred", "rmdir") for name in names) or any(
        re.search(r"\brm\b", word) for word in words if " " in word
    )


def _disk(call: Call) -> ToolError | None:
    written: list[str] = []
    if _FORMATTERS.fullmatch(call.name) and not set(call.args) & (_LOOKS | _LOOKS_OF.get(call.name, _LOOKS)):
        written = [path for word in call.args for path in _paths_in(word)]
        if call.name in ("wipefs",) and not any(word.startswith("-") for word in call.args):
            written = []
    elif call.name in ("dd", "dcfldd", "dc3dd"):
        written = [word[3:] for word in call.args if word.startswith("of=")]
    elif call.name in (
        "cp",
        "mv",
        "tee",
        "truncate",
        "install",
        "ln",
        "rsync",
        "sponge",
        "bmaptool",
        "pv",
        "fallocate",
    ):
        operands = [word for word in call.args if not word.startswith("-")]
        written = operands if call.name in ("tee", "truncate", "sponge", "fallocate") else operands[-1:]
    elif call.name in ("gzip", "xz", "curl", "wget", "qemu-img", "sort", "sed"):
        outputs = {"-o", "--output", "-O", "--output-document", "-i"}
        written = [call.args[at + 1] for at, word in enumerate(call.args[:-1]) if word in outputs]
    for path in written:
        if error := _disk_error(path, call):
            return error
    return None


def _disk_error(path: str, call: Call) -> ToolError | None:
    for absolute in meanings(path, call.place, call.folders).absolute:
        if _DISK.match(absolute):
            return refuse(
                f"{call.name} writes to the disk {absolute} and destroys what is on it",
                "work with a file of the working folder instead; a person formats disks",
            )
        if absolute in _KERNEL_FILES:
            return refuse(f"{absolute} stops the machine", "leave it to the person")
    return None


def _power(call: Call) -> ToolError | None:
    stops = False
    if call.name in _POWER:
        stops = not set(call.args) & _ASKS_ONLY
    elif call.name == "init":
        stops = bool(call.args) and call.args[0] in ("0", "1", "6", "s", "S")
    elif call.name in ("systemctl", "loginctl"):
        operands = [word for word in call.args if not word.startswith("-")]
        actions = operands[1:] if operands[:1] in (["isolate"], ["start"], ["default"]) else operands[:1]
        stops = bool(set(actions) & _POWER_ACTIONS)
    elif call.name in ("dbus-send", "gdbus", "busctl", "qdbus"):
        stops = any(re.search(r"\b(PowerOff|Reboot|Halt|Suspend|Hibernate)\b", word) for word in call.args)
    if not stops:
        return None
    return refuse(f"{call.name} stops or restarts the machine", "ask the person to do it")


def _own_rules(call: Call) -> ToolError | None:
    """The agent may not answer its own questions nor change its own rules."""
    words = [word for word in call.args if not word.startswith("-")]
    if call.name != "limnos":
        if not (is_interpreter(call.name) and "-m" in call.args and "limnos" in words[:2]):
            return None
        words = words[words.index("limnos") + 1 :]
    named = set(words[:3])
    if named & _OWN_COMMANDS or ("config" in named and set(words) & _OWN_CHANGES):
        return refuse(
            "limnos' approvals, secrets and settings are not the agent's to answer or change",
            "ask the person to do it",
        )
    return None


def _program_text(call: Call) -> ToolError | None:
    """Code in words of an interpreter: deleting whole trees, forking without end, reaching the state."""
    if not is_interpreter(call.name):
        return None
    for word in call.args:
        if _FORKS.search(word[:20_000]):
            return refuse("this starts copies of itself without end", "start a fixed number of processes")
        states = (
            call.place.state,
            "~/.limnos" if call.place.state.startswith(call.place.home) else call.place.state,
        )
        if any(state in word for state in states):
            return _state_error()
        if _TREE_REMOVERS.search(word):
            for path in re.findall(r"[\"'`]([^\"'`]*)[\"'`]", word):
                home = path.replace("~", call.place.home, 1) if path.startswith("~") else path
                if home and removes_tree(home, call.place, call.folders):
                    return refuse(f"this deletes all of {path}", "delete only what you made")
    return None
