"""The filter of system calls for the sandbox: a classic BPF program, made as bytes, for bwrap to load.

It takes away what a program inside needs for no ordinary work and what reaches past the namespaces: other
programs' memory, the kernel's keyrings, mounts, new namespaces, sockets that name a file. What is refused
fails with EPERM, so a program that has another way goes on. Numbers are those of Linux 6.18's headers.
"""

import errno
import struct
from typing import NamedTuple

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_EQUAL, _AT_LEAST, _ANY_BIT = 0x15, 0x35, 0x45

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_ERRNO = 0x00050000

_NUMBER, _MACHINE = 0, 4  # offsets in struct seccomp_data; argument n stands at 16 + 8 n, low word first

_NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NEW_TIME = 0x80
_X32 = 0x40000000
_LAST_KNOWN = 470
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQPACKET = 1, 5
_PUSH_INPUT, _CONSOLE = 0x5412, 0x541C  # TIOCSTI, TIOCLINUX
_PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)  # Linux, 32 bit uname, 2.6 numbers, both, the question


class Machine(NamedTuple):
    """What of the filter differs between processors: the audit number and the numbers of the calls."""

    audit: int
    refused: dict[str, int]
    special: dict[str, int]
    x32: bool = False


# fmt: off
_SAME = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438,
    "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447,
    "open_tree_attr": 467,
}
_X86_64 = {
    "modify_ldt": 154, "pivot_root": 155, "_sysctl": 156, "adjtimex": 159, "chroot": 161, "acct": 163,
    "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
    "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "create_module": 174,
    "init_module": 175, "delete_module": 176, "get_kernel_syms": 177, "query_module": 178, "quotactl": 179,
    "nfsservctl": 180, "ptrace": 101, "syslog": 103, "uselib": 134, "ustat": 136, "sysfs": 139,
    "vhangup": 153, "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256,
    "vmsplice": 278, "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300,
    "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
    "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}
_AARCH64 = {
    "lookup_dcookie": 18, "umount2": 39, "mount": 40, "pivot_root": 41, "nfsservctl": 42, "chroot": 51,
    "vhangup": 58, "quotactl": 60, "vmsplice": 75, "acct": 89, "kexec_load": 104, "init_module": 105,
    "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117, "reboot": 142,
    "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "add_key": 217,
    "request_key": 218, "keyctl": 219, "swapon": 224, "swapoff": 225, "mbind": 235, "set_mempolicy": 237,
    "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280,
    "userfaultfd": 282, "kexec_file_load": 294,
}
MACHINES = {
    "x86_64": Machine(0xC000003E, _X86_64 | _SAME, {
        "ioctl": 16, "socket": 41, "socketpair": 53, "clone": 56, "personality": 135, "unshare": 272,
        "clone3": 435,
    }, x32=True),
    "aarch64": Machine(0xC00000B7, _AARCH64 | _SAME, {
        "ioctl": 29, "personality": 92, "unshare": 97, "socket": 198, "socketpair": 199, "clone": 220,
        "clone3": 435,
    }),
}
# fmt: on


def program(machine: str) -> bytes:
    """The filter for `machine` as `platform.machine()` names it. Raises KeyError for one not in MACHINES."""
    kind = MACHINES[machine]
    code = _Code()
    code.load(_MACHINE)
    code.unless(_EQUAL, kind.audit, _KILL)  # a 32 bit program: its numbers mean other calls
    code.load(_NUMBER)
    if kind.x32:
        code.when(_AT_LEAST, _X32, _refuse(errno.ENOSYS))
    # calls that came later are unknown here: a program must do without them
    code.when(_AT_LEAST, _LAST_KNOWN + 1, _refuse(errno.ENOSYS))
    code.when(
        _EQUAL, kind.special["clone3"], _refuse(errno.ENOSYS)
    )  # its flags lie in memory; clone is tried
    for number in sorted(kind.refused.values()):
        code.when(_EQUAL, number, _refuse(errno.EPERM))
    for name, rules in _SPECIAL.items():
        code.section(kind.special[name], rules())
    code.leave(_ALLOW)
    return code.value()


def _refuse(number: int) -> int:
    return _ERRNO | number


class _Code:
    """Instructions in order. Jumps are only forwards and short: each test stands before what it decides."""

    def __init__(self) -> None:
        self._done: list[bytes] = []

    def add(self, code: int, value: int, yes: int = 0, no: int = 0) -> None:
        self._done.append(struct.pack("<HBBI", code, yes, no, value))

    def load(self, offset: int) -> None:
        self.add(_LOAD, offset)

    def leave(self, verdict: int) -> None:
        self.add(_RETURN, verdict)

    def when(self, test: int, value: int, verdict: int) -> None:
        self.add(test, value, yes=0, no=1)
        self.leave(verdict)

    def unless(self, test: int, value: int, verdict: int) -> None:
        self.add(test, value, yes=1, no=0)
        self.leave(verdict)

    def section(self, number: int, inner: "_Code") -> None:
        """`inner`, which always leaves, for the call `number`; the accumulator holds the number before."""
        self.add(_EQUAL, number, yes=0, no=len(inner._done))
        self._done += inner._done

    def value(self) -> bytes:
        return b"".join(self._done)


def _argument(index: int) -> int:
    return 16 + 8 * index  # the kernel reads all of these arguments as 32 bit values


def _no_new_namespace() -> _Code:
    code = _Code()
    code.load(_argument(0))
    code.when(_ANY_BIT, _NEW_NAMESPACES, _refuse(errno.EPERM))
    code.leave(_ALLOW)
    return code


def _no_unshare() -> _Code:
    code = _Code()
    code.load(_argument(0))
    code.when(_ANY_BIT, _NEW_NAMESPACES | _NEW_TIME, _refuse(errno.EPERM))
    code.leave(_ALLOW)
    return code


def _internet_only() -> _Code:
    """Sockets of the internet, and the one that lists interfaces and routes (the C library asks it)."""
    code = _Code()
    code.load(_argument(0))
    code.when(_EQUAL, _UNIX, _refuse(errno.EPERM))
    code.when(_EQUAL, _INET, _ALLOW)
    code.when(_EQUAL, _INET6, _ALLOW)
    code.unless(_EQUAL, _NETLINK, _refuse(errno.EAFNOSUPPORT))
    code.load(_argument(2))
    code.when(_EQUAL, 0, _ALLOW)
    code.leave(_refuse(errno.EPERM))
    return code


def _connected_pairs() -> _Code:
    """Pairs that stay connected to each other; a pair of datagram sockets can be sent anywhere."""
    code = _Code()
    code.load(_argument(0))
    code.unless(_EQUAL, _UNIX, _refuse(errno.EAFNOSUPPORT))
    code.load(_argument(1))
    code.add(_AND, 0xF)
    code.when(_EQUAL, _STREAM, _ALLOW)
    code.when(_EQUAL, _SEQPACKET, _ALLOW)
    code.leave(_refuse(errno.EPERM))
    return code


def _no_typing() -> _Code:
    code = _Code()
    code.load(_argument(1))
    code.when(_EQUAL, _PUSH_INPUT, _refuse(errno.EPERM))
    code.when(_EQUAL, _CONSOLE, _refuse(errno.EPERM))
    code.leave(_ALLOW)
    return code


def _plain_personality() -> _Code:
    code = _Code()
    code.load(_argument(0))
    for value in _PERSONALITIES:
        code.when(_EQUAL, value, _ALLOW)
    code.leave(_refuse(errno.EPERM))
    return code


_SPECIAL = {
    "clone": _no_new_namespace,
    "unshare": _no_unshare,
    "socket": _internet_only,
    "socketpair": _connected_pairs,
    "ioctl": _no_typing,
    "personality": _plain_personality,
}
