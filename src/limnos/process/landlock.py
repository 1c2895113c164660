"""Landlock rules, set by a process for itself and what it starts. Imported inside the sandbox only.

The mounts already show nothing else; the rules hold should a mount be wrong, and they alone keep a program
from the memory of the sandbox's first process and, with a network, from abstract sockets of the machine.
"""

import _ctypes  # what `ctypes` stands on: it loads in a fifth of the time, and every command waits for it
import os
import struct

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every processor
_ASK_VERSION = 1
_PATH_BENEATH = 1

EXECUTE, WRITE, READ, LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_DEVICES, _MAKE_SOCKET = 3 << 4, 1 << 6 | 1 << 11, 1 << 9
_MAKE = 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12  # folders, files, pipes, links
_REFER, _TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2

SHOW = EXECUTE | READ | LIST
CHANGE = SHOW | WRITE | _REMOVE | _MAKE | _REFER | _TRUNCATE
USE = SHOW | WRITE | IOCTL | _TRUNCATE
_OF_A_FILE = EXECUTE | WRITE | READ | _TRUNCATE | IOCTL
_ALL = CHANGE | IOCTL | _MAKE_DEVICES | _MAKE_SOCKET
_SINCE = {2: _REFER, 3: _TRUNCATE, 5: IOCTL}


def version() -> int:
    """The ABI of this kernel, 0 without Landlock."""
    found = _call(_CREATE, None, 0, _ASK_VERSION)
    return max(found, 0)


def restrict(rules: list[tuple[str, int]]) -> int:
    """Allow only what `rules` grant, each a path and rights on everything below it; returns the ABI used.

    Rights that this kernel does not know are left out. Paths that are missing grant nothing. Raises OSError.
    """
    abi = version()
    if not abi:
        return 0
    known = _ALL & ~sum(bit for since, bit in _SINCE.items() if abi < since)
    attributes = struct.pack("=Q", known)
    if abi >= 6:
        attributes = struct.pack("=QQQ", known, 0, _ABSTRACT_SOCKETS | _SIGNALS)
    ruleset = _checked(_call(_CREATE, attributes, len(attributes), 0))
    for path, rights in rules:
        _allow(ruleset, path, rights & known)
    _checked(_call(_RESTRICT, ruleset, 0))
    os.close(ruleset)
    return abi


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    granted = rights if os.path.isdir(path) else rights & _OF_A_FILE
    _checked(_call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", granted, descriptor), 0))
    os.close(descriptor)


def _call(number: int, *arguments: int | bytes | None) -> int:
    return call("syscall", number, *arguments)


def call(function: str, *arguments: int | bytes | None) -> int:
    """Call `function` of the C library; numbers must fit into 32 bits."""
    return _ctypes.call_function(_ctypes.dlsym(_LIBRARY, function), arguments)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError("the kernel refused a Landlock rule")
    return result


_LIBRARY = _ctypes.dlopen(None, os.RTLD_NOW)  # pyright: ignore[reportArgumentType] this program itself
