"""A lock from what is there: plugins that fit together start, and of each other one it is known why not."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from limnos.kernel.errors import StorageError
from limnos.plugins.choices import Choices
from limnos.plugins.faults import LockError, ManifestError
from limnos.plugins.lock import UnreadableLockError, read_lock, write_lock
from limnos.plugins.locked import Broken, Lock, Locked
from limnos.plugins.manifest import Manifest
from limnos.plugins.order import resolve
from limnos.plugins.places import plugins_folder
from limnos.plugins.prints import prints
from limnos.plugins.reading import read_manifest
from limnos.store.locking import locked as holding

_LOCK_SECONDS = 0.5  # of a start, for a lock that another one writes too


def read_builtins(folders: Iterable[Path]) -> tuple[list[Locked], list[Broken]]:
    """The plugins of limnos itself as they are now, and those that cannot be read."""
    found: list[Locked] = []
    broken: list[Broken] = []
    for folder in folders:
        try:
            found.append(accepted(read_manifest(folder, builtin=True)))
        except ManifestError as error:
            broken.append(Broken(folder.name, str(folder), error.what))
    return found, broken


def relocked(home: Path, folders: Iterable[Path], choices: Choices) -> tuple[Lock, list[Broken]]:
    """The lock of `home` with the plugins of limnos as they are now, written where that can be.

    A lock that is damaged, or in use by another program, stays as it is, and so does one that would lose a
    plugin of limnos which cannot be read.
    """
    builtins, broken = read_builtins(folders)
    try:
        with holding(plugins_folder(home), "plugins", _LOCK_SECONDS):
            lock = _beside(builtins, read_lock(home), choices)
            if not broken:
                write_lock(home, lock)
    except UnreadableLockError:
        lock = _beside(builtins, None, choices)
    except StorageError:
        lock = _beside(builtins, read_lock(home), choices)
    return lock, broken


def _beside(builtins: Sequence[Locked], before: Lock | None, choices: Choices) -> Lock:
    installed = [one for one in (before.plugins if before else ()) if not one.manifest.builtin]
    return settled([*builtins, *installed], choices)


def accepted(manifest: Manifest, tree: str = "") -> Locked:
    """`manifest` with a look at its files; `tree` is the hash that a person said yes to."""
    return Locked(manifest, tree=tree, prints=tuple(prints(Path(manifest.folder), manifest.entry)))


def settled(plugins: Sequence[Locked], choices: Choices) -> Lock:
    """Put `plugins` in order. Those that stand against others are down, installed ones first, and say why.

    Of two with one name the first counts.
    """
    plugins = list({one.name: one for one in reversed(plugins)}.values())[::-1]
    disabled = {one.name for one in plugins if choices.keeps_off(one.manifest)}
    down: dict[str, str] = {}
    while True:
        left = [one for one in plugins if one.name not in disabled and one.name not in down]
        try:
            lock = resolve((one.manifest for one in left), choices.prefer)
            break
        except LockError as error:
            _take_down(error, left, down)
    return Lock(tuple(_ordered(plugins, lock, down, disabled)))


def resolved(plugins: Sequence[Locked], choices: Choices) -> Lock:
    """Put `plugins` in order. Raises LockError where not all that are not disabled can stand together."""
    disabled = {one.name for one in plugins if choices.keeps_off(one.manifest)}
    enabled = [one.manifest for one in plugins if one.name not in disabled]
    return Lock(tuple(_ordered(plugins, resolve(enabled, choices.prefer), {}, disabled)))


def _take_down(error: LockError, left: Sequence[Locked], down: dict[str, str]) -> None:
    """Note at least one more of `left`: of each fault the plugins that do not belong to limnos, if any."""
    builtin = {one.name for one in left if one.manifest.builtin}
    for fault in error.faults:
        foreign = [name for name in fault.plugins if name not in builtin]
        for name in foreign or fault.plugins:
            down.setdefault(name, fault.what)


def _ordered(
    plugins: Sequence[Locked], lock: Lock, down: Mapping[str, str], disabled: set[str]
) -> Iterable[Locked]:
    by_name = {one.name: one for one in plugins}
    for one in lock.plugins:
        yield by_name[one.name]._replace(needs=one.needs, down="", disabled=False)
    for name in sorted(by_name.keys() - {one.name for one in lock.plugins}):
        yield by_name[name]._replace(needs=(), down=down.get(name, ""), disabled=name in disabled)
