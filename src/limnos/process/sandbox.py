"""The sandbox: a program sees its workspace and the system's programs, and reaches nothing else.

Made by bubblewrap from namespaces and mounts, with a filter of system calls and Landlock rules on top.
"""

import os
import platform
import re
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from limnos.process import cgroup, inside, repository, seccomp, system
from limnos.process.mounts import Arguments, Kind, covered, ordered
from limnos.process.placeholders import Placeholders
from limnos.process.plan import Plan, plan
from limnos.process.profile import NoSandbox as NoSandbox
from limnos.process.profile import Profile
from limnos.process.spawn import ChildSpec, StartError, resolve

SYSTEM_PATH = "/usr/bin:/bin:/usr/local/bin"
PROBE_S = 5.0

_NEEDED = ("--bind-fd", "--ro-bind-fd", "--size", "--perms", "--disable-userns", "--args")
_FLAGS = (
    "--unshare-all", "--unshare-user", "--disable-userns", "--new-session", "--die-with-parent",
    "--cap-drop", "ALL", "--clearenv",
)  # fmt: skip
_MOST_PROCESSES = 2048
_LANDLOCK_WITH_SCOPES = 6
_NESTED_FRESH_S = 30.0
_ASK_VERSION = (
    f"import sys; sys.path.insert(0, {system.OURS!r}); from limnos.process import landlock;"
    " print('landlock', landlock.version())"
)


class Sandbox:
    """A working sandbox. `landlock` is the version of Landlock that the system has, 0 for none."""

    def __init__(self, bwrap: str, landlock: int = 0) -> None:
        self.bwrap = bwrap
        self.landlock = landlock
        self._groups = cgroup.place() if os.geteuid() == 0 else ""
        self._filter = seccomp.program(platform.machine())
        self._nested: dict[str, tuple[float, list[str]]] = {}

    @property
    def note(self) -> str:
        """What is weaker on this machine than it could be, for a person to read; empty when nothing is."""
        weaker: list[str] = []
        if not self.landlock:
            weaker.append(
                "this kernel has no Landlock: only namespaces, mounts and the system call filter hold"
            )
        elif self.landlock < _LANDLOCK_WITH_SCOPES:
            weaker.append(
                f"Landlock {self.landlock} does not keep abstract sockets apart, only the filter does"
            )
        if os.geteuid() == 0 and not self._groups:
            weaker.append(
                "nothing counts the processes of root here: a fork bomb ends with its time limit only"
            )
        return "; ".join(weaker)

    @contextmanager
    def enter(self, spec: ChildSpec, profile: Profile) -> Generator[ChildSpec]:
        """Give what to start so that `spec` runs inside; leave the context when the program has ended.

        In between the workspace holds stand-ins for protected names that are absent. Takes some
        milliseconds; may be entered several times at once, also for one workspace. Raises StartError.
        """
        resolve(spec)
        made = plan(profile, spec.env.get("PATH", os.defpath), spec.env.get("HOME", ""), self._nested_in)
        self._check(spec, profile, made)
        with ExitStack() as undo:
            try:
                placeholders = Placeholders()
                undo.callback(placeholders.release)
                placeholders.hold(made.wanted)
                arguments = Arguments()
                undo.callback(arguments.close)
                inner = self._inner(spec, profile, made, arguments)
                if self._groups:
                    group = cgroup.make(self._groups, spec.limits.processes or _MOST_PROCESSES)
                    undo.callback(cgroup.remove, group)
                    inner = inner._replace(argv=cgroup.joined(group, inner.argv))
            except OSError as error:
                where = error.filename or profile.workspace
                raise StartError(
                    f"the sandbox cannot be set up: {where}: {error.strerror}",
                    "make way for it, then try again",
                ) from error
            yield inner

    def _check(self, spec: ChildSpec, profile: Profile, made: Plan) -> None:
        if not covered(os.path.realpath(spec.cwd), made.mounts):
            raise StartError(
                f"{spec.argv[0]} cannot run: the sandbox does not show its working folder {spec.cwd}",
                "run it inside the workspace",
            )
        if self.bwrap.startswith(os.path.realpath(profile.workspace) + "/"):
            raise StartError(f"{self.bwrap} is inside the workspace", "name another folder")

    def _inner(self, spec: ChildSpec, profile: Profile, made: Plan, arguments: Arguments) -> ChildSpec:
        mounts = ordered(made.mounts)
        arguments.add(*_FLAGS, *(("--share-net",) if profile.network else ()))
        system.base(arguments, profile, mounts, spec.env.get("HOME", ""))
        for mount in mounts:
            arguments.mount(mount)
        change = [mount.path for mount in mounts if mount.kind in (Kind.WRITE, Kind.TEMPORARY)]
        limits = {"NPROC": _MOST_PROCESSES, **spec.limits.as_rlimits()}
        order = arguments.pass_on(
            inside.order(
                {
                    "limit": [f"{name}={value}".encode() for name, value in limits.items()],
                    "env": [os.fsencode(f"{name}={value}") for name, value in spec.env.items()],
                    "change": [os.fsencode(path) for path in (*change, "/dev/shm")],
                    "keep": [str(descriptor).encode() for descriptor in spec.pass_fds],
                    "starter": [str(arguments.lifeline()).encode()],
                    "terminal": [b"0"] if spec.terminal else [],
                }
            )
        )
        arguments.add("--seccomp", str(arguments.pass_on(self._filter)))
        arguments.add("--chdir", os.path.realpath(spec.cwd), "--remount-ro", "/")
        words = arguments.pass_on(b"".join(os.fsencode(word) + b"\0" for word in arguments.words))
        start = (made.python, "-I", "-S", "-c", inside.STARTER, system.OURS, str(order))
        return spec._replace(
            argv=(self.bwrap, "--args", str(words), "--", *start, *spec.argv),
            cwd="/",
            env={},
            pass_fds=(*spec.pass_fds, *arguments.descriptors),
            direct=True,
        )

    def _nested_in(self, workspace: str) -> list[str]:
        now = time.monotonic()
        known = self._nested.get(workspace)
        if known is None or now - known[0] > _NESTED_FRESH_S:
            known = self._nested[workspace] = (now, repository.nested(workspace))
        return known[1]


def probe(path: str = SYSTEM_PATH) -> Sandbox | NoSandbox:
    """Whether programs can be run in a sandbox here, tried once for real; blocks up to 10 seconds.

    `path` are the folders of the system in which bwrap is looked for; a PATH of the person is not asked.
    """
    if platform.machine() not in seccomp.MACHINES:
        return NoSandbox(f"there is no system call filter for {platform.machine()}", "use another machine")
    bwrap = _find(path)
    if isinstance(bwrap, NoSandbox):
        return bwrap
    try:
        options = subprocess.run(
            (bwrap, "--help"),
            capture_output=True,
            timeout=PROBE_S,
            env={},
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return _broken(bwrap, str(error))
    missing = [option for option in _NEEDED if option.encode() not in options.stdout + options.stderr]
    if options.returncode or len(missing) == len(_NEEDED):
        return _broken(bwrap, f"it ended with status {options.returncode}")
    if missing:
        return NoSandbox(f"{bwrap} is too old: it lacks {', '.join(missing)}", _INSTALL)
    return _tried(bwrap)


_INSTALL = "install bubblewrap 0.8 or newer from your distribution (apt install bubblewrap)"


def _find(path: str) -> str | NoSandbox:
    for folder in path.split(os.pathsep):
        file = os.path.join(folder, "bwrap")
        if not folder.startswith("/") or not os.path.isfile(file):
            continue
        if not os.access(file, os.X_OK):
            return NoSandbox(f"{file} is not executable", f"chmod 755 {file}, or install bubblewrap again")
        found = os.stat(file)
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
            return NoSandbox(f"{file} can be changed by others", "install bubblewrap again")
        return file
    return NoSandbox("bubblewrap (bwrap) is not installed", _INSTALL)


def _broken(bwrap: str, why: str) -> NoSandbox:
    return NoSandbox(f"{bwrap} does not work: {why}", "install bubblewrap again")


def _tried(bwrap: str) -> Sandbox | NoSandbox:
    """Run the starter once in an empty workspace, as every later program is run."""
    sandbox = Sandbox(bwrap)
    with tempfile.TemporaryDirectory(prefix="limnos-") as folder:
        spec = ChildSpec((os.path.realpath(sys.executable), "-I", "-S", "-c", _ASK_VERSION), folder)
        try:
            with sandbox.enter(spec, Profile(folder, ())) as inner:
                done = subprocess.run(
                    inner.argv,
                    capture_output=True,
                    timeout=PROBE_S,
                    env={},
                    check=False,
                    stdin=subprocess.DEVNULL,
                    pass_fds=inner.pass_fds,
                    cwd="/",
                )
        except (OSError, subprocess.TimeoutExpired) as error:
            return _broken(bwrap, str(error))
        except StartError as error:
            return NoSandbox(error.what, error.fix)
    version = re.fullmatch(rb"landlock (\d+)\n", done.stdout)
    if version is None:
        return _refused(bwrap, done.stderr.decode(errors="replace").strip()[-300:])
    return Sandbox(bwrap, int(version[1]))


_REFUSALS = (
    (
        ("namespace", "uid map", "Operation not permitted", "setting up"),
        "allow namespaces for ordinary users: `sysctl kernel.unprivileged_userns_clone=1`,"
        " `sysctl user.max_user_namespaces=10000`,"
        " on Ubuntu `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        ("proc",),
        "in a container: start it with `--security-opt seccomp=unconfined`"
        " and `--security-opt systempaths=unconfined`",
    ),
)


def _refused(bwrap: str, said: str) -> NoSandbox:
    for words, fix in _REFUSALS:
        if any(word in said for word in words):
            return NoSandbox(f"this system refuses a sandbox: {said}", fix)
    return _broken(bwrap, said or "it printed nothing")
