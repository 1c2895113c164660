"""Which paths of a command line lie where commands in the sandbox see nothing, or only an empty place."""

import os
from collections.abc import Iterable, Sequence

from limnos.kernel.findings import Part

# Made anew for every command, or shown as they are on the machine.
_SHOWN = (
    "/usr", "/opt", "/nix", "/gnu", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", "/dev", "/etc",
)  # fmt: skip
_OWN_TEMPORARY = ("/tmp", "/var/tmp", "/run")
MAX_WORDS = 256


def unseen(parts: Iterable[Part], workspace: str, folders: Sequence[str]) -> str:
    """The first word that names something outside of `workspace`, `folders` and the system; or "".

    What is read there is not found, and what is written there is gone when the command ends.
    """
    seen = (workspace, *folders, *_SHOWN)
    words = [word for part in parts for word in part.words[1:]][:MAX_WORDS]
    return next((word for word in words if _lies_outside(word, workspace, seen)), "")


def _lies_outside(word: str, workspace: str, seen: Sequence[str]) -> bool:
    if not word.startswith(("/", "..")) or "\0" in word:
        return False
    path = os.path.normpath(os.path.join(workspace, word))
    if path in ("/", *_OWN_TEMPORARY) or _is_below(os.path.realpath(path), seen) or _is_below(path, seen):
        return False
    above = os.path.dirname(path)
    return os.path.lexists(path) or (above not in ("/", *_OWN_TEMPORARY) and os.path.isdir(above))


def _is_below(path: str, folders: Iterable[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)
