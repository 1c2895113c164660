"""Putting a plugin into a home and taking it out again: all of it or nothing."""

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from limnos.kernel.errors import UsageError
from limnos.plugins.choices import read_choices, write_choices
from limnos.plugins.lock import read_trees, write_lock, write_trees
from limnos.plugins.locked import Lock, Locked
from limnos.plugins.locking import locked_before
from limnos.plugins.places import data_of, folder_of, plugins_folder, settings_of
from limnos.plugins.reading import FILE, NAME, read_manifest
from limnos.plugins.settling import accepted, read_builtins, resolved, settled
from limnos.plugins.trees import MOST_BYTES, TreeError, entries, tree_of
from limnos.sdk.archives import unpack
from limnos.sdk.beneath import UnsupportedError, exchange, rename_new
from limnos.sdk.durable import sync_folder
from limnos.sdk.regular import open_regular
from limnos.store.locking import locked as holding
from limnos.store.whole import storage_error

_LOCK_SECONDS = 10.0
_DRAFT, _OLD = ".draft-", ".old-"
_LEFT_OUT = frozenset({"__pycache__", ".git", ".venv", ".pytest_cache", ".ruff_cache", ".mypy_cache"})
_CHUNK = 1 << 20
_OWNER = 0o700


class Candidate(NamedTuple):
    """A plugin before a person says yes. `replaces` is the one of that name that is there, if any."""

    plugin: Locked
    replaces: Locked | None


Confirm: TypeAlias = Callable[[Candidate], bool]


def install(source: Path, home: Path, builtin_folders: Sequence[Path], confirm: Confirm) -> Locked | None:
    """Install the plugin that `source`, a folder or an archive, holds; None when `confirm` said no.

    What is there under its name stays until the new one stands. Nothing of the plugin is run. Raises
    LimnosError of many kinds, and has changed nothing then.
    """
    with _changing(home), _draft(home, source) as folder:
        manifest = read_manifest(folder, known_as=f"{source}/{FILE}")._replace(folder=str(source))
        tree = tree_of(folder)
        plugin = Locked(manifest, tree=tree.digest)
        before = locked_before(home)
        choices = read_choices(home)
        others = [one for one in before.plugins if one.name != manifest.name and not one.manifest.builtin]
        builtins = read_builtins(builtin_folders)[0]
        resolved([*builtins, *(one for one in others if not one.down), plugin], choices)
        old = before.get(manifest.name)
        if not confirm(Candidate(plugin, None if old is None or old.manifest.builtin else old)):
            return None
        target = folder_of(home, manifest.name)
        with _in_place(folder, target):
            standing = accepted(manifest._replace(folder=str(target)), tree.digest)
            lock = settled([*builtins, *others, standing], choices)
            write_trees(home, {**read_trees(home), manifest.name: tree.files})
            write_lock(home, lock)
        return lock.get(manifest.name)


def remove(name: str, home: Path, builtin_folders: Sequence[Path]) -> None:
    """Delete an installed plugin with its data and its settings. Raises UsageError, StorageError."""
    _require_name(name)
    with _changing(home):
        before = locked_before(home)
        if not os.path.lexists(folder_of(home, name)):
            raise _unknown(name, before, home)
        write_choices(home, read_choices(home).without(name))
        _lock_without(name, home, before, builtin_folders)
        for path in (data_of(home, name), settings_of(home, name), folder_of(home, name)):
            _delete(path)  # the folder last: as long as it is there, removing can be repeated


def enable(name: str, home: Path, builtin_folders: Sequence[Path]) -> Lock:
    """Let a disabled plugin start again. Raises LockError when it does not fit beside the others."""
    return _choose(name, home, builtin_folders, disabled=False)


def disable(name: str, home: Path, builtin_folders: Sequence[Path]) -> Lock:
    """Keep a plugin from starting; its tools, handlers and channels are gone, its guards too."""
    return _choose(name, home, builtin_folders, disabled=True)


def _choose(name: str, home: Path, builtin_folders: Sequence[Path], *, disabled: bool) -> Lock:
    _require_name(name)
    with _changing(home):
        before = locked_before(home)
        builtins = read_builtins(builtin_folders)[0]
        plugins = [*builtins, *(one for one in before.plugins if not one.manifest.builtin)]
        if name not in {one.name for one in plugins}:
            raise _unknown(name, before, home)
        chosen = read_choices(home).chosen(name, disabled=disabled)
        lock = settled(plugins, chosen)
        standing = lock.get(name)
        if not disabled and standing is not None and standing.down:
            resolved(plugins, chosen)  # raises, with all that is wrong
        write_choices(home, chosen)
        write_lock(home, lock)
    return lock


def _lock_without(name: str, home: Path, before: Lock, builtin_folders: Sequence[Path]) -> None:
    left = [one for one in before.plugins if one.name != name and not one.manifest.builtin]
    write_lock(home, settled([*read_builtins(builtin_folders)[0], *left], read_choices(home)))
    write_trees(home, {known: files for known, files in read_trees(home).items() if known != name})


def _require_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!a} is no name of a plugin", "limnos plugins list")


def _unknown(name: str, lock: Lock, home: Path) -> UsageError:
    if folder_of(home, name).is_dir():
        return UsageError(f"{name} was not accepted yet", "limnos plugins lock")
    one = lock.get(name)
    if one is not None and one.manifest.builtin:
        return UsageError(f"{name} belongs to limnos and cannot be removed", f"limnos plugins disable {name}")
    return UsageError(f"no plugin is called {name}", "limnos plugins list")


@contextmanager
def _changing(home: Path) -> Generator[None]:
    """Alone with the plugins of `home`; what a killed install left is put right first."""
    folder = plugins_folder(home)
    with holding(folder, "plugins", _LOCK_SECONDS):
        try:
            _recover(home)
        except OSError as error:
            raise storage_error(folder, error, "try again") from None
        yield


def _recover(home: Path) -> None:
    """Delete what is half written; what was to be replaced comes back unless the new version is locked."""
    folder = plugins_folder(home)
    for name in os.listdir(folder):
        path = folder / name
        if name.startswith(_OLD):
            target = folder / name.removeprefix(_OLD).rpartition("-")[0]
            if not os.path.lexists(target):
                path.rename(target)
            elif _is_locked(path, locked_before(home).get(target.name)):
                _move(path, target, True)
        if name.startswith((_DRAFT, _OLD)) and path.is_dir():
            shutil.rmtree(path)


def _is_locked(folder: Path, locked: Locked | None) -> bool:
    """Whether `folder` holds what a person accepted under that name."""
    try:
        return locked is not None and tree_of(folder).digest == locked.tree
    except TreeError:
        return False


@contextmanager
def _draft(home: Path, source: Path) -> Generator[Path]:
    """A folder beside the installed plugins that holds what `source` does; gone at the end."""
    draft = plugins_folder(home) / f"{_DRAFT}{secrets.token_hex(6)}"
    try:
        try:
            draft.mkdir(mode=_OWNER)
            folder = _filled(source, draft)
        except OSError as error:
            raise storage_error(draft, error, "try again") from None
        yield folder
    finally:
        if draft.exists():
            shutil.rmtree(draft)


def _filled(source: Path, draft: Path) -> Path:
    target = draft / "plugin"
    try:
        mode = source.stat().st_mode
    except (OSError, ValueError):
        raise UsageError(f"{source} is not there", "limnos plugins install FOLDER") from None
    if stat.S_ISDIR(mode):
        _copy(source, target)
        return target
    unpack(source, target)
    inner = os.listdir(target)
    alone = target / inner[0] if len(inner) == 1 else target
    return alone if alone.is_dir() and not (target / FILE).exists() else target


def _copy(source: Path, target: Path) -> None:
    """Copy a folder, its files and folders only. Raises TreeError for anything else in it, or too much."""
    left = MOST_BYTES
    target.mkdir(mode=_OWNER)
    for entry in entries(source, _LEFT_OUT):
        path = target / entry.path
        if entry.folder:
            path.mkdir(mode=_OWNER)
            continue
        with _readable(source / entry.path) as file, path.open("xb") as copy:
            while piece := file.read(_CHUNK):
                left -= len(piece)
                if left < 0:
                    raise TreeError(
                        f"{source} has more than {MOST_BYTES:,} bytes", "install a smaller plugin"
                    )
                copy.write(piece)
        path.chmod(_OWNER if entry.executable else 0o600)


def _readable(path: Path) -> BinaryIO:
    try:
        return open_regular(path, os.O_NOFOLLOW)
    except OSError as error:
        raise TreeError(
            f"{path} cannot be read: {error.strerror}", "make it a file that you can read"
        ) from None


@contextmanager
def _in_place(folder: Path, target: Path) -> Generator[None]:
    """Give `folder` the name `target`; the one that had it comes back when the body fails."""
    aside = target.with_name(f"{_OLD}{target.name}-{secrets.token_hex(6)}")
    replaces = os.path.lexists(target)
    try:
        folder.rename(aside)
        _move(aside, target, replaces)
    except OSError as error:
        raise storage_error(target, error, "try again") from None
    try:
        sync_folder(target.parent)
        yield
    except BaseException:
        _move(target, aside, replaces)
        _delete(aside)
        raise
    if replaces:
        _delete(aside)


def _move(new: Path, target: Path, replaces: bool) -> None:
    """Rename `new` to `target`; with `replaces` the two change names, in one step where the disk can."""
    parent = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not replaces:
            rename_new(parent, new.name, target.name)
            return
        try:
            exchange(parent, new.name, target.name)
        except UnsupportedError:
            third = target.with_name(f"{_OLD}{target.name.removeprefix('.')}-{secrets.token_hex(6)}")
            target.rename(third)
            new.rename(target)
            third.rename(new)
    finally:
        os.close(parent)


def _delete(path: Path) -> None:
    """Delete a file, a link or a folder, if it is there. Raises StorageError."""
    try:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise storage_error(path, error, "try again") from None
