"""Keeping the memory of a process to itself: no core dump, no debugger, no reading by others."""

import ctypes
import os
import resource
import sys

_PR_SET_DUMPABLE = 4  # linux/prctl.h
NOT_LINUX = "core dumps are off, but on this system debuggers of the same user can read the memory"


def keep_private() -> str:
    """Make this process write no core and let no process of the same user trace it or read its memory.

    Children that run another program get the limit and not the rest. Returns why less was done; empty when
    all was. Never raises: a kernel that starts with less privacy is better than none.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return NOT_LINUX
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0):
        return f"debuggers of the same user can read the memory: {os.strerror(ctypes.get_errno())}"
    return ""
