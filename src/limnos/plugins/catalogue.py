"""The plugins of a home as a start finds them: from the lock, without reading a manifest."""

from collections.abc import Sequence
from pathlib import Path

from limnos.kernel.errors import SettingsError
from limnos.plugins import deferred
from limnos.plugins.choices import Choices, read_choices
from limnos.plugins.lock import UnreadableLockError, read_lock
from limnos.plugins.locked import Broken, Lock, Locked
from limnos.plugins.places import installed_folders
from limnos.plugins.stale import check

_NOT_ACCEPTED = "it was not accepted yet: limnos plugins lock"


def catalogue(home: Path, builtin_folders: Sequence[Path]) -> Lock:
    """All plugins of `home`, those that may not start with the reason. Raises nothing for a broken one.

    Plugins of limnos itself, in `builtin_folders`, are locked anew when they changed. An installed plugin
    that changed since a person accepted it is down. A look at the files, no proof: whoever starts a plugin
    calls `stale.verify` before.
    """
    lock, unreadable = _read(home)
    choices = _choices(home, lock)
    broken: list[Broken] = []
    if _outdated(lock, builtin_folders, choices):
        lock, broken = deferred.settling.relocked(home, builtin_folders, choices)
    there = {folder.name: folder for folder in installed_folders(home)}
    plugins = [_looked_at(one, there) for one in lock.plugins]
    known = {one.name for one in plugins if not one.manifest.builtin}
    taken = {one.name for one in plugins if one.manifest.builtin}
    reasons = dict.fromkeys(taken, "a plugin of limnos has that name: limnos plugins remove")
    broken += [
        Broken(name, str(there[name]), reasons.get(name, unreadable or _NOT_ACCEPTED))
        for name in sorted(there.keys() - known)
    ]
    return Lock(_waiting_down(plugins), tuple(broken))


def _read(home: Path) -> tuple[Lock, str]:
    try:
        return read_lock(home) or Lock(), ""
    except UnreadableLockError as error:
        return Lock(), f"{error.what}: {error.fix}"


def _choices(home: Path, lock: Lock) -> Choices:
    """The choices; those of the time of the lock where they cannot be read."""
    try:
        return read_choices(home)
    except SettingsError:
        off, on = ({one.name for one in lock.plugins if one.disabled is told} for told in (True, False))
        return Choices(frozenset(off), enabled=frozenset(on))


def _outdated(lock: Lock, folders: Sequence[Path], choices: Choices) -> bool:
    """Whether the lock is of other built-in plugins, or of other choices, than there are now."""
    builtins = {one.manifest.folder: one for one in lock.plugins if one.manifest.builtin}
    if builtins.keys() != set(map(str, folders)):
        return True
    if any(one.disabled != choices.keeps_off(one.manifest) for one in lock.plugins):
        return True
    return any(check(one) for one in builtins.values())


def _looked_at(locked: Locked, there: dict[str, Path]) -> Locked:
    if locked.manifest.builtin or not locked.starts:
        return locked
    if locked.name not in there:
        return locked._replace(down="its folder is gone: limnos plugins lock")
    return locked._replace(down=check(locked))


def _waiting_down(plugins: Sequence[Locked]) -> tuple[Locked, ...]:
    """A plugin that needs one which does not start does not start either."""
    starts: set[str] = set()
    found: list[Locked] = []
    for one in plugins:
        missing = next((need for need in one.needs if need.plugin not in starts), None)
        why = f"{missing.plugin}, of which it needs {missing.facility}, is down" if missing else ""
        found.append(one._replace(down=why) if one.starts else one)
        if found[-1].starts:
            starts.add(one.name)
    return tuple(found)
