"""Hard denials about the machine: its disks, its power, everything that runs on it."""

import re
from collections.abc import Iterable

from limnos.agent.shell.options import Call, Policy, read_options
from limnos.agent.shell.place import meanings
from limnos.agent.shell.refusal import refuse
from limnos.agent.shell.tables import names
from limnos.kernel.messages import ToolError

_DISK = re.compile(
    r"/dev/(sd[a-z*?\[]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|dm-\d|md\d|mapper/|disk/|r?disk\d|nbd\d|sr\d|mtd|pmem\d|zd\d"
    r"|ada\d|da\d|mem$|kmem$|port$)"
)
_KERNEL_FILES = ("/proc/sysrq-trigger", "/proc/sys/kernel/sysrq", "/sys/power/state", "/sys/power/disk")
_FORMATTERS = re.compile(
    r"(mkfs(\..+)?|mke2fs|mkswap|mkdosfs|mkntfs|mkexfatfs|mkreiserfs|newfs.*|wipefs|blkdiscard|sfdisk|cfdisk|fdisk|gdisk|sgdisk"
    r"|parted|partprobe|cryptsetup|pvcreate|vgremove|lvremove|pvremove|mdadm|badblocks|zpool|hdparm|nvme|diskutil|shred|mkudffs"
    r"|make-bcache|tune2fs|dd_rescue|ddrescue|nwipe|scrub|wipe|resize2fs|partclone\..+|ntfsclone|ntfsresize|btrfs)"
)
_LOOKS = frozenset({"-l", "--list", "-V", "--version", "--help", "-h"})
_LOOKS_OF: dict[str, frozenset[str]] = {
    "fdisk": names("-x -u"),
    "sfdisk": names("-d --dump -J --json"),
    "sgdisk": names("-p -i -v --print --info --verify"),
    "parted": names("print list unit free all -s --script -m --machine B s MB MiB GB GiB"),
    "hdparm": names("-I -i -t -T -tT -g -C"),
    "cryptsetup": names("luksDump isLuks luksUUID status"),
    "mdadm": names("-D --detail -E --examine -Q --query --scan"),
    "wipefs": names("-n --no-act -J --json"),
    "badblocks": names("-s -v -sv -vs"),
    "nvme": names("list id-ctrl id-ns smart-log error-log list-ns list-subsys fw-log get-feature -H"),
    "diskutil": names("list info"),
    "btrfs": names("filesystem fi show usage df device stats"),
    "zpool": names("list status history iostat get"),
}
_BARE_LOOKS = frozenset({"wipefs", "badblocks", "fdisk"})
_POOLS = {"zpool": names("destroy labelclear create"), "zfs": names("destroy")}
_GONE = frozenset({"vgremove", "lvremove", "pvremove"})
_ALL_WRITTEN = frozenset({"tee", "truncate", "sponge", "fallocate", "socat"})
_LAST_WRITTEN = frozenset({"cp", "mv", "install", "ln", "rsync", "bmaptool", "qemu-img"})
_OUTPUT = re.compile(r"(-[oO]|-fprint0?|-fprintf|-fls|--(?:output|output-document|overwrite|file)=?)(.*)")
_OTHER_OUTPUT = names("ls mount ps lsblk df findmnt grep lsof od strings blkid")
_POWER = frozenset(
    {"shutdown", "reboot", "halt", "poweroff", "telinit", "pm-suspend", "pm-hibernate", "pm-powersave"}
)
_POWER_ACTIONS = names(
    "poweroff reboot halt suspend hibernate hybrid-sleep suspend-then-hibernate kexec isolate default "
    "soft-reboot rescue emergency exit terminate-user kill-user terminate-session kill-session "
    "poweroff.target reboot.target halt.target rescue.target emergency.target shutdown.target exit.target"
)
_POWER_CALLS = re.compile(r"\b(PowerOff|Reboot|Halt|Suspend|Hibernate)\b")
_SERVICES = Policy(
    "fqlaiH:M:p:t:n:o:s:",
    "force quiet no-block no-wall host: machine: user system job-mode: check-inhibitors: when: message: now",
)
_ASKS_ONLY = frozenset({"--help", "--version", "-c", "--show", "-h?", "list-jobs"})
_SLEEPS = {"rtcwake": names("off mem disk standby freeze"), "acpiconf": names("3 4")}
_MATCHES_MANY = Policy(
    "fnovxilceu:U:G:g:P:t:s:F:",
    "full newest oldest inverse exact ignore-case list-full count echo euid: uid: group: pgroup: parent: "
    "terminal: session: signal: pidfile: user: older: regexp wait quiet process-group",
    numbers=True,
)


def machine_denial(call: Call) -> ToolError | None:
    """The denial of a command that destroys a disk, stops the machine or ends everything on it."""
    return (_disk(call) if call.args else None) or _power(call) or _ends_all(call)


def stops_surely(call: Call) -> bool:
    """Whether the words are those of a shutdown, not of a program with such a subcommand."""
    return call.name not in _POWER or bool(call.args and (call.args[0][:1] == "-" or call.args[0] == "now"))


def device_denial(path: str, call_name: str, paths: Iterable[str]) -> ToolError | None:
    """The denial of writing to `path`, which may be one of the absolute `paths`."""
    for absolute in paths:
        if _DISK.match(absolute):
            return refuse(
                f"{call_name} writes to the disk {absolute} and destroys what is on it",
                "work with a file of the working folder instead; a person formats disks",
            )
        if absolute in _KERNEL_FILES:
            return refuse(f"{absolute} stops the machine", "leave it to the person")
    del path
    return None


def names_disk(text: str) -> bool:
    """Whether a text holds the name of a disk or of a file that stops the machine."""
    return bool(_DISK.search(text.replace("/dev/mem", ""))) or any(one in text for one in _KERNEL_FILES)


def _disk(call: Call) -> ToolError | None:
    if call.name in _GONE and not set(call.args) & _LOOKS:
        return refuse(f"{call.name} deletes volumes of the machine", "leave it to the person")
    if set(call.args[:1]) & _POOLS.get(call.name, frozenset()):
        return refuse(f"{call.name} {call.args[0]} destroys disks", "leave it to the person")
    for path in dict.fromkeys(_written(call)):
        absolute = meanings(path, call.place, call.folders).absolute
        if error := device_denial(path, call.name, absolute):
            return error
    return None


def _written(call: Call) -> list[str]:
    """Words of `call` that name what it writes, if they name disks."""
    words = [word for word in call.args if not word.startswith("-")]
    if _FORMATTERS.fullmatch(call.name):
        return [] if _only_looks(call) else [*words, *_values(call.args)]
    if call.name in ("dd", "dcfldd", "dc3dd") or "dd" in call.args[:1]:
        return [word[3:] for word in call.args if word.startswith("of=")]
    outputs = list(_outputs(call.args))
    if call.name in _ALL_WRITTEN:
        return [*words, *_values(call.args), *outputs]
    if call.name in _LAST_WRITTEN:
        return [*words[-1:], *outputs]
    if call.name in ("sed", "gsed", "perl") and any(re.match(r"-\w*i|--in-p", word) for word in call.args):
        return words
    return [] if call.name in _OTHER_OUTPUT else outputs


def _only_looks(call: Call) -> bool:
    said = [word for word in call.args if not word.startswith("/")]
    looks = _LOOKS | _LOOKS_OF.get(call.name, frozenset())
    if call.name.startswith("mk"):
        looks = frozenset({"-V", "--version", "--help"})
    return (bool(said) or call.name in _BARE_LOOKS - {"fdisk"}) and set(said) <= looks


def _values(args: tuple[str, ...]) -> list[str]:
    """What stands behind `=`, `:` or a comma in words."""
    return [piece for word in args for piece in re.split("[=:,]", word)[1:] if piece]


def _outputs(args: tuple[str, ...]) -> Iterable[str]:
    for place, word in enumerate(args):
        if match := _OUTPUT.fullmatch(word):
            yield match.group(2).removeprefix("=") or "".join(args[place + 1 : place + 2])


def _power(call: Call) -> ToolError | None:
    if not _stops(call):
        return None
    return refuse(f"{call.name} stops or restarts the machine", "ask the person to do it")


def _stops(call: Call) -> bool:
    if call.name in _POWER:
        return not set(call.args) & _ASKS_ONLY
    if call.name == "init":
        return bool(call.args) and call.args[0] in ("0", "1", "6", "s", "S")
    if call.name in ("systemctl", "loginctl"):
        operands = list(read_options(_SERVICES, call.args).operands)
        starts = operands[:1] == ["start"]
        return bool(set(operands if starts else operands[:1]) & _POWER_ACTIONS)
    if call.name in ("dbus-send", "gdbus", "busctl", "qdbus"):
        return any(_POWER_CALLS.search(word) for word in call.args)
    if call.name in _SLEEPS:
        return bool(set(call.args) & _SLEEPS[call.name])
    if call.name == "kexec":
        return bool(call.args) and not set(call.args) & _LOOKS
    return call.name == "wsl" and bool({"--shutdown", "--terminate", "-t"} & set(call.args))


def _ends_all(call: Call) -> ToolError | None:
    if call.name == "kill":
        ends = "-1" in _killed(call.args)
    elif call.name in ("pkill", "killall"):
        ends = _matches_all(call)
    else:
        ends = call.name == "killall5"
    if not ends:
        return None
    return refuse(f"{call.name} ends everything that runs", "end only what you started, by its number")


def _killed(args: tuple[str, ...]) -> tuple[str, ...]:
    """The processes that a kill is for."""
    if args[:1] in (("-s",), ("-n",), ("--signal",)):
        args = args[2:]
    elif args[:1] in (("-l",), ("-L",)):
        return ()
    elif args[:1] and args[0].startswith("-") and args[0] != "--":
        args = args[1:]
    return args


def _matches_all(call: Call) -> bool:
    args = call.args
    if args[:1] and re.fullmatch(r"-(SIG)?[A-Z]+\d?", args[0]) and len(args[0]) > 2:
        args = args[1:]
    options = read_options(_MATCHES_MANY, args)
    if not options.operands:
        return bool(options.values.keys() & {"-u", "-U", "--euid", "--uid", "--user"})
    return call.name == "pkill" and all(not one.strip(".*+?^$") for one in options.operands)
