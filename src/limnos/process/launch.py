"""Prepares a process, then becomes the program: `python -I -S launch.py PARENT SETUP PROGRAM ARGV…`.

Run as a file: limits and the death signal can only be set inside the new process, and a
`preexec_fn` would run Python between fork and exec of a threaded parent. Costs about
10 ms: only what starts fast is imported.
"""

import ctypes
import fcntl
import os
import resource
import sys

PR_SET_PDEATHSIG = 1
TIOCSCTTY = 0x540E if sys.platform == "linux" else 0x20007461
CANNOT_EXECUTE = 126
SIGKILL, SIGPIPE, SIGXFSZ = (
    9,
    13,
    25,
)  # the same on Linux and macOS; the module `signal` takes longer than all of this


def die_with(parent: int) -> None:
    """Be killed when `parent` ends (Linux); it may have ended before this was set."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), SIGKILL)


def limit(limits: list[str]) -> None:
    """Set each `NAME=VALUE` as `RLIMIT_NAME`, soft and hard, never above what this process may have."""
    for item in limits:
        name, value = item.split("=")
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        allowed = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        resource.setrlimit(kind, (allowed, allowed))


def take_terminal() -> None:
    """Make the terminal that standard input is the controlling one, in a session of its own."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    fcntl.ioctl(0, TIOCSCTTY, 0)


def main() -> None:
    parent, setup, program, *argv = sys.argv[1:]
    words = setup.split(",")
    if "ctype" not in words:
        # the interpreter adds it by itself in the C locale; the program gets the declared environment only
        os.environ.pop("LC_CTYPE", None)
    for number in (SIGPIPE, SIGXFSZ):
        ctypes.CDLL(None).signal(number, None)
    die_with(int(parent))
    limit([word for word in words if "=" in word])
    if "terminal" in words:
        take_terminal()
    try:
        os.execv(program, argv)
    except OSError as error:
        os.write(2, f"{argv[0]} cannot run: {error.strerror}\n".encode())
        os._exit(CANNOT_EXECUTE)


if __name__ == "__main__":
    main()
