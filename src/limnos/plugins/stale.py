"""Whether a plugin is still what a person accepted: by a quick look, or by all its files before it runs."""

from pathlib import Path

from limnos.plugins import deferred
from limnos.plugins.locked import Locked
from limnos.plugins.prints import prints

_LOCK_IT = "limnos plugins lock"


def check(locked: Locked) -> str:
    """Why a plugin is stale, by a quick look; empty when it is not.

    Where the look tells of a difference, the files of a plugin that is not built in decide.
    """
    manifest = locked.manifest
    if tuple(prints(Path(manifest.folder), manifest.entry)) == locked.prints:
        return ""
    return "its manifest changed" if manifest.builtin else verify(locked)


def verify(locked: Locked) -> str:
    """Why a plugin is stale, by all of its files, before it is started; built-in ones never are."""
    if locked.manifest.builtin:
        return ""
    try:
        same = deferred.trees.tree_of(Path(locked.manifest.folder)).digest == locked.tree
    except deferred.trees.TreeError as error:
        return f"{error.what}: {_LOCK_IT}"
    return "" if same else f"its files changed since a person accepted them: {_LOCK_IT}"
