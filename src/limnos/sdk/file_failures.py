"""Why a file cannot be read or changed, as the failures of tools: what is wrong, and what to do instead."""

import errno
import stat

from limnos.kernel.messages import ErrorReason
from limnos.kernel.tools import ToolFailure

MAX_READ = 20_000_000

_REASONS: dict[int | None, tuple[ErrorReason, str]] = {
    errno.ENOENT: ("not_found", "list the folder, or find_files"),
    errno.EISDIR: ("failed", "use list_dir, or name a file in it"),
    errno.ENOTDIR: ("failed", "a part of the path is a file, not a folder"),
    errno.ENOTEMPTY: ("failed", "a folder is no file"),
    errno.EACCES: ("unauthorized", "the person has to change who may do this"),
    errno.EPERM: ("unauthorized", "the person has to change who may do this"),
    errno.ELOOP: ("failed", "its links lead in a circle; name the file itself"),
    errno.ENAMETOOLONG: ("failed", "use a shorter name"),
    errno.ENOSPC: ("failed", "free some space on the disk, then try again"),
    errno.EROFS: ("failed", "the disk can only be read; use another folder"),
}


def failure(path: str, error: OSError) -> ToolFailure:
    """The failure for what the system said about `path`."""
    reason, hint = _REASONS.get(error.errno, ("failed", "try another path"))
    return ToolFailure(reason, f"{path}: {error.strerror or error}", hint)


def outside(path: str, root: str) -> ToolFailure:
    """For a path that leads out of the folder, by its own names or over a link."""
    return ToolFailure("refused", f"{path} is outside of {root}", "name a path inside this folder")


def own_state(path: str) -> ToolFailure:
    """For what belongs to limnos."""
    return ToolFailure(
        "refused", f"{path} belongs to limnos itself", "leave it alone; a person can change it"
    )


def changed(path: str) -> ToolFailure:
    """For what somebody else changed between our look and our write; theirs is kept."""
    return ToolFailure(
        "failed", f"{path} was changed by somebody else meanwhile", "read it again, then retry"
    )


def missing(path: str) -> ToolFailure:
    """For what is not there."""
    return ToolFailure("not_found", f"{path} does not exist", "list the folder above it")


def require_regular(mode: int, size: int, path: str) -> None:
    """Raises ToolFailure for folders, for what is no regular file, and for files of more than 20 MB."""
    if stat.S_ISREG(mode):
        if size > MAX_READ:
            raise too_large(path, f"{size} bytes, more than {MAX_READ}")
    elif stat.S_ISDIR(mode):
        raise ToolFailure("failed", f"{path} is a folder", "use list_dir, or name a file in it")
    else:
        raise ToolFailure(
            "refused", f"{path} is no regular file", "devices, pipes and sockets are not touched"
        )


def too_large(path: str, size: str) -> ToolFailure:
    """For a file whose size is `size`."""
    return ToolFailure("refused", f"{path} has {size}", "use search_text")
