"""Opens files by steps, so that a link put in the way is an error and never followed."""

import os

_STEP = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def open_parent(path: str) -> int:
    """The folder that holds `path`, which is absolute and without links. Raises OSError."""
    current = os.open("/", _STEP)
    for step in os.path.dirname(path).split("/"):
        if not step:
            continue
        try:
            following = os.open(step, _STEP, dir_fd=current)
        finally:
            os.close(current)
        current = following
    return current


def open_place(path: str) -> int:
    """`path` itself, for mounting only: neither its content nor what is in it can be read. Raises OSError."""
    parent = open_parent(path)
    try:
        name = os.path.basename(path) or "."
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    finally:
        os.close(parent)
