"""Accepting plugins as they are: what changed since, shown before a person says yes, and then locked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from limnos.kernel.errors import LimnosError
from limnos.plugins.choices import Choices, read_choices, write_choices
from limnos.plugins.faults import FaultsError, LockError, LockFault
from limnos.plugins.lock import UnreadableLockError, read_lock, read_trees, write_lock, write_trees
from limnos.plugins.locked import Lock, Locked
from limnos.plugins.places import installed_folders, plugins_folder
from limnos.plugins.reading import read_manifest
from limnos.plugins.settling import accepted, resolved
from limnos.plugins.trees import Changes, Tree, TreeError, difference, tree_of
from limnos.store.locking import locked as holding

_LOCK_SECONDS = 10.0
_NO_FILES: Mapping[str, str] = {}


class Change(NamedTuple):
    """What is different in one installed plugin; `added` are capabilities that it did not have."""

    name: str
    kind: Literal["new", "changed", "gone"]
    files: Changes = Changes()
    added: tuple[str, ...] = ()
    plugin: Locked | None = None


class Proposal(NamedTuple):
    """A lock that nobody has said yes to, with the files of its installed plugins."""

    lock: Lock
    trees: Mapping[str, Mapping[str, str]]
    choices: Choices
    changes: tuple[Change, ...]
    builtin_folders: tuple[Path, ...]


def propose(home: Path, builtin_folders: Sequence[Path], choices: Choices | None = None) -> Proposal:
    """The lock of what is there now, and what it changes. Raises LockError with all that is wrong."""
    choices = choices or read_choices(home)
    faults: list[LockFault] = []
    plugins: list[Locked] = []
    trees: dict[str, Mapping[str, str]] = {}
    for folder in builtin_folders:
        _take(folder, True, plugins, faults)
    for folder in installed_folders(home):
        tree = _take(folder, False, plugins, faults)
        trees[folder.name] = tree.files
    if faults:
        raise LockError(faults)
    changes = _changes(home, plugins, trees)
    return Proposal(resolved(plugins, choices), trees, choices, changes, tuple(builtin_folders))


def accept(home: Path, proposal: Proposal) -> None:
    """Store a proposal that a person said yes to.

    Raises LimnosError when the plugins are not those that were shown any more, StorageError.
    """
    with holding(plugins_folder(home), "plugins", _LOCK_SECONDS):
        if propose(home, proposal.builtin_folders, proposal.choices).trees != proposal.trees:
            raise LimnosError("the plugins changed while you looked at them", "limnos plugins lock")
        write_trees(home, proposal.trees)
        write_choices(home, proposal.choices)
        write_lock(home, proposal.lock)


def locked_before(home: Path) -> Lock:
    """The lock as it is; empty where there is none that can be read."""
    try:
        return read_lock(home) or Lock()
    except UnreadableLockError:
        return Lock()


def _take(folder: Path, builtin: bool, plugins: list[Locked], faults: list[LockFault]) -> Tree:
    """Add the plugin in `folder` to `plugins`, or what is wrong with it to `faults`; its files."""
    tree = Tree("", _NO_FILES)
    try:
        manifest = read_manifest(folder, builtin=builtin)
        tree = tree if builtin else tree_of(folder)
    except FaultsError as error:
        faults += [LockFault(row, (folder.name,)) for row in error.lines]
    except TreeError as error:
        faults.append(LockFault(error.what, (folder.name,)))
    else:
        if not builtin and manifest.name != folder.name:
            what = f"{folder} holds the plugin {manifest.name}, and must have that name"
            faults.append(LockFault(what, (manifest.name,)))
        plugins.append(accepted(manifest, tree.digest))
    return tree


def _changes(
    home: Path, plugins: Sequence[Locked], trees: Mapping[str, Mapping[str, str]]
) -> tuple[Change, ...]:
    before = {one.name: one for one in locked_before(home).plugins if not one.manifest.builtin}
    files_before = read_trees(home)
    found: list[Change] = []
    for plugin in plugins:
        old = before.pop(plugin.name, None) if not plugin.manifest.builtin else plugin
        if old is None:
            found.append(Change(plugin.name, "new", added=plugin.manifest.capabilities, plugin=plugin))
        elif old.tree != plugin.tree:
            files = difference(files_before.get(plugin.name, _NO_FILES), trees[plugin.name])
            added = [one for one in plugin.manifest.capabilities if one not in old.manifest.capabilities]
            found.append(Change(plugin.name, "changed", files, tuple(added), plugin))
    return (*found, *(Change(name, "gone") for name in sorted(before)))
