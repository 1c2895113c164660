"""Prepares a process, then becomes the program: `python -I -S launch.py PARENT SETUP PROGRAM ARGV…`.

Run as a file, never imported: limits and the death signal can only be set inside the new process, and a
`preexec_fn` would run Python between fork and exec of a threaded parent. Costs about 15 ms.
"""

import ctypes
import json
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1
CANNOT_EXECUTE = 126


def die_with(parent: int) -> None:
    """Be killed when `parent` ends (Linux); it may have ended before this was set."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def limit(limits: dict[str, int]) -> None:
    """Set each `RLIMIT_<name>`, soft and hard, never above what this process may have."""
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))


def main() -> None:
    parent, setup, program, *argv = sys.argv[1:]
    order = json.loads(setup)
    if not order["ctype"]:
        # the interpreter adds it by itself in the C locale; the program gets the declared environment only
        os.environ.pop("LC_CTYPE", None)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    die_with(int(parent))
    limit(order["limits"])
    try:
        os.execv(program, argv)
    except OSError as error:
        os.write(2, f"{argv[0]} cannot run: {error.strerror}\n".encode())
        os._exit(CANNOT_EXECUTE)


if __name__ == "__main__":
    main()
