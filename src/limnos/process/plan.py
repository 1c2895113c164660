"""From a profile to mounts: what is shown, what is hidden, and what must not change or appear."""

import os
import stat
from collections.abc import Callable, Iterable
from typing import NamedTuple

from limnos.process import system
from limnos.process.mounts import SHOWN, Kind, Mount, below, covered, pinned
from limnos.process.placeholders import Wanted, is_ours
from limnos.process.profile import IN_MEMORY, Profile
from limnos.process.protected import GIT, SECRET_IN_HOME, names
from limnos.process.repository import kind_of, named_in_config, parts
from limnos.process.spawn import StartError

_RUN_SIZE = 64 << 20
_TEMPORARY = {"/tmp": IN_MEMORY, "/run": _RUN_SIZE}
_NO_WORKSPACE = ("/", "/usr", "/etc", "/var", "/run", "/bin", "/sbin", "/lib", "/lib64", "/boot")
_NO_WORKSPACE_BELOW = ("/proc", "/sys", "/dev")
_WRITABLE_NESTED = 8


class Plan(NamedTuple):
    """Mounts in any order, stand-ins to make before, and the Python that starts the program inside."""

    mounts: list[Mount]
    wanted: list[Wanted]
    python: str


def plan(profile: Profile, path: str, home: str, nested: Callable[[str], list[str]]) -> Plan:
    """The plan for one run; `path` and `home` are PATH and HOME of the program. Raises StartError.

    `nested` finds the `.git` of folders inside the workspace.
    """
    real = _resolved(profile)
    own = system.home()
    mounts = [*system.folders(), *_places(real), *_temporary(real, (own, home))]
    python, needed = system.interpreter(mounts)
    _refuse_private(needed, own)
    mounts += needed
    private = (own, home, *real.hidden, real.workspace)
    mounts += [one for one in system.tools(path, private) if not covered(one.path, mounts)]
    wanted: dict[str, Wanted] = {}
    if real.protect:
        for root in (real.workspace, *filter(os.path.isdir, real.writable)):
            for one in dict.fromkeys((own, home)):
                _Guard(mounts, wanted, root).all(one, nested)
    for one in dict.fromkeys((own, os.path.realpath(home) if home else "")):
        _hide(mounts, wanted, real, one)
    return Plan(mounts, list(wanted.values()), python)


def _resolved(profile: Profile) -> Profile:
    workspace = os.path.realpath(profile.workspace)
    if not os.path.isdir(workspace):
        raise StartError(f"the workspace {workspace} is not there", "name another folder")
    if workspace in _NO_WORKSPACE or any(below(workspace, folder) for folder in _NO_WORKSPACE_BELOW):
        raise StartError(
            f"{workspace} cannot be a workspace: it is part of the system", "name another folder"
        )
    for path in profile.hidden:
        if os.path.islink(path) and below(os.path.realpath(os.path.dirname(path)), workspace):
            raise _link(path)
    lists = (profile.hidden, profile.readable, profile.writable)
    hidden, readable, writable = (tuple(map(os.path.realpath, paths)) for paths in lists)
    if workspace in hidden:
        raise StartError(f"{workspace} cannot be a workspace: it must stay hidden", "name another folder")
    return profile._replace(workspace=workspace, hidden=hidden, readable=readable, writable=writable)


def _link(path: str) -> StartError:
    return StartError(
        f"the sandbox cannot protect {path}: it is a symbolic link", "put the file or folder itself there"
    )


def _places(profile: Profile) -> list[Mount]:
    readable = [Mount(path, Kind.READ) for path in profile.readable if os.path.lexists(path)]
    writable = [Mount(path, Kind.WRITE) for path in profile.writable if os.path.lexists(path)]
    kind = Kind.READ if profile.read_only else Kind.WRITE
    return [Mount(profile.workspace, kind), *readable, *writable]


def _temporary(profile: Profile, homes: Iterable[str]) -> list[Mount]:
    """Empty folders for temporary files and in place of the home."""
    most = profile.in_memory
    found = [Mount(path, Kind.TEMPORARY, min(size, most)) for path, size in _TEMPORARY.items()]
    for home in homes:
        if home.startswith("/") and home != "/" and not covered(home, _places(profile)):
            found.append(Mount(os.path.realpath(home), Kind.TEMPORARY, most))
    return found


def _refuse_private(needed: Iterable[Mount], home: str) -> None:
    for mount in needed:
        if home and below(home, mount.source or mount.path):
            raise StartError(
                f"the sandbox cannot show {mount.path}: the home folder is inside",
                "install Python and limnos in folders of their own",
            )


class _Guard:
    """Adds what protects names in the workspace."""

    def __init__(self, mounts: list[Mount], wanted: dict[str, Wanted], workspace: str) -> None:
        self._mounts = mounts
        self._wanted = wanted
        self._workspace = workspace

    def all(self, home: str, nested: Callable[[str], list[str]]) -> None:
        """The table's names, what git is set up to run, and repositories inside the workspace."""
        for path, name in names(self._workspace, home):
            if name.path == GIT:
                self._git(path, when_absent=True)
            else:
                self.name(path, name.when_absent)
        for path in named_in_config(self._workspace):
            self.name(path, when_absent=True)
        fixed = [mount.path for mount in self._mounts if mount.kind is Kind.FIXED]
        found = [path for path in nested(self._workspace) if not any(below(path, one) for one in fixed)]
        for index, path in enumerate(found):
            self._git(path, whole=index >= _WRITABLE_NESTED)

    def name(self, path: str, when_absent: bool) -> None:
        """One file or folder; when it is absent, the outermost part of its path that is."""
        at = self._workspace
        for step in path[len(self._workspace) + 1 :].split("/"):
            at = os.path.join(at, step)
            kind = kind_of(at)
            if kind is not None and stat.S_ISLNK(kind):
                raise _link(at)
            if kind is None or is_ours(at):
                if when_absent:
                    self.absent(Wanted(at))
                return
        self._mounts += [*pinned(path, self._workspace), Mount(path, Kind.FIXED)]

    def absent(self, wanted: Wanted) -> None:
        """A name that must not appear."""
        self._wanted[wanted.path] = wanted
        self._mounts += pinned(wanted.path, self._workspace)
        kind = Kind.BLANK if wanted.content is None else Kind.FIXED
        self._mounts.append(Mount(wanted.path, kind))

    def _git(self, path: str, whole: bool = False, when_absent: bool = False) -> None:
        """A `.git`: a file as it is, a folder without what makes git run something."""
        kind = kind_of(path)
        if kind is None or not stat.S_ISDIR(kind) or is_ours(path):
            self.name(path, when_absent)
            return
        self._mounts += pinned(path, self._workspace)
        inner = parts(path)
        if whole or inner.whole:
            self._mounts.append(Mount(path, Kind.FIXED))
            return
        self._mounts += [Mount(path, Kind.WRITE), *(Mount(one, Kind.FIXED) for one in inner.fixed)]
        for folder in inner.absent_folders:
            self.absent(Wanted(folder))
        for file, content in inner.absent_files:
            self.absent(Wanted(file, content))


def _hide(mounts: list[Mount], wanted: dict[str, Wanted], profile: Profile, home: str) -> None:
    """Put nothing in place of what must not be seen, and keep it from being made where it could be."""
    named = {*profile.readable, *profile.writable}
    shown = [mount for mount in mounts if mount.kind in SHOWN]
    at_home = home and any(below(home, one.path) or below(one.path, home) for one in shown)
    secrets = [os.path.join(home, name) for name in SECRET_IN_HOME] if at_home else []
    for path in (*profile.hidden, *(one for one in secrets if one not in named)):
        if not covered(path, shown):
            continue
        kind = kind_of(path)
        if kind is None or is_ours(path):
            if path not in profile.hidden:
                continue
            at = _outermost_absent(path)
            wanted[at] = Wanted(at)
        else:
            at = path
        is_file = kind is not None and not stat.S_ISDIR(kind)
        mounts.append(Mount(at, Kind.NOTHING if is_file else Kind.BLANK))
        for root in (profile.workspace, *profile.writable):
            mounts += pinned(at, root)


def _outermost_absent(path: str) -> str:
    while not os.path.lexists(parent := os.path.dirname(path)) or is_ours(parent):
        path = parent
    return path
