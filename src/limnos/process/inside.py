"""Runs first inside the sandbox: sets limits and Landlock rules, then becomes the program.

`python -I -S -c STARTER FOLDER ORDER PROGRAM ARG…`, where FOLDER holds this package and ORDER is a descriptor
with what else is to be done: items that end with NUL and begin with a letter for their kind. So no variable's
value is in anybody's list of processes.
"""

import os
import resource
import sys

from limnos.process import landlock, launch

STARTER = "import sys; sys.path.insert(0, sys.argv.pop(1)); from limnos.process.inside import main; main()"
CANNOT_EXECUTE, NOT_FOUND = 126, 127

_SIGPIPE, _SIGXFSZ = 13, 25
_READ = 1 << 20
_KILLED_FIRST = "500"  # when memory runs out, before the program that started us

Order = dict[bytes, list[bytes]]


def order(items: dict[str, list[bytes]]) -> bytes:
    """The order as bytes. `limit` items are NAME=NUMBER, `env` NAME=VALUE; `change` and `keep` are below.

    `change` names folders and files that may be written, `keep` descriptors that stay open; `starter` is one
    whose other end the process that started us holds. `terminal` has an item when the standard input is to be
    the controlling terminal.
    """
    return b"".join(kind[:1].encode() + item + b"\0" for kind, many in items.items() for item in many)


def main() -> None:
    """Become the program, or end with 126 or 127 and a line on standard error."""
    descriptor, name, *arguments = sys.argv[1:]
    given = _read(int(descriptor))
    _prepare(given)
    _end_with_starter(given)
    if b"t" in given:
        launch.take_terminal()
    env = dict(item.split(b"=", 1) for item in given.get(b"e", []))
    status, why = _become(name, [name, *arguments], env)
    os.write(2, f"{name} cannot run: {why}\n".encode(errors="surrogateescape"))
    os._exit(status)


def _read(descriptor: int) -> Order:
    data = b""
    while piece := os.read(descriptor, _READ):
        data += piece
    os.close(descriptor)
    found: Order = {}
    for item in data.split(b"\0")[:-1]:
        found.setdefault(item[:1], []).append(item[1:])
    return found


def _prepare(given: Order) -> None:
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write(_KILLED_FIRST)
    for item in given.get(b"l", []):
        name, number = item.decode().split("=")
        _limit(getattr(resource, f"RLIMIT_{name}"), int(number))
    for number in (_SIGPIPE, _SIGXFSZ):  # the interpreter ignores them, the program must not inherit that
        landlock.call("signal", number, None)
    _close_others({int(item) for kind in (b"k", b"s") for item in given.get(kind, [])})
    change = [(os.fsdecode(path), landlock.CHANGE) for path in given.get(b"c", [])]
    landlock.restrict([("/", landlock.SHOW), ("/dev", landlock.USE), *change])


def _end_with_starter(given: Order) -> None:
    """End if who started us has ended already: bwrap hears only of an end that comes after its own start."""
    for item in given.get(b"s", []):
        descriptor = int(item)
        os.set_blocking(descriptor, False)
        try:
            if not os.read(descriptor, 1):
                os._exit(CANNOT_EXECUTE)
        except BlockingIOError:
            os.close(descriptor)


def _limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (allowed, allowed))


def _close_others(kept: set[int]) -> None:
    """Close every descriptor that was not passed on by name, whoever left it open."""
    for descriptor in map(int, os.listdir("/proc/self/fd")):
        if descriptor > 2 and descriptor not in kept:
            try:
                os.close(descriptor)
            except OSError:  # the one that listed them
                continue


def _become(name: str, argv: list[str], env: dict[bytes, bytes]) -> tuple[int, str]:
    """Returns only when that failed: the exit status and the reason."""
    folders = os.fsdecode(env.get(b"PATH", os.fsencode(os.defpath))).split(os.pathsep)
    status, why = NOT_FOUND, "it is not installed where the sandbox can see it"
    for path in [name] if "/" in name else [os.path.join(folder, name) for folder in folders]:
        try:
            os.execve(path, argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            status, why = CANNOT_EXECUTE, str(error.strerror)
    return status, why
