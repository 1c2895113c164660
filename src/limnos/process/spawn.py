"""Starts a program in a group of its own and follows it to its end; the base of `child` and `capture`."""

import asyncio
import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from limnos.kernel.errors import LimnosError

_LAUNCHER = str(Path(__file__).with_name("launch.py"))
_READ = 65536
_MOST_LEFT = 1 << 20
_REAP_S = 10.0


class StartError(LimnosError):
    """A program cannot be started: it is not installed, or its working folder is missing."""


class Limits(NamedTuple):
    """Resource limits of one process; None leaves what the parent has. Core dumps are always off.

    `memory` is address space in bytes, `data` what of it is its own to write (runtimes that reserve far
    more than they use need this one), `cpu` seconds of processor time, `files` open descriptors,
    `processes` the processes of this user, `file_size` the largest file it may write in bytes.
    """

    memory: int | None = None
    data: int | None = None
    cpu: int | None = None
    files: int | None = None
    processes: int | None = None
    file_size: int | None = None

    def as_rlimits(self) -> dict[str, int]:
        """The names that follow `RLIMIT_` and their values."""
        names = {
            "memory": "AS", "data": "DATA", "cpu": "CPU",
            "files": "NOFILE", "processes": "NPROC", "file_size": "FSIZE",
        }  # fmt: skip
        given = {names[key]: value for key, value in self._asdict().items() if value is not None}
        return {"CORE": 0, **given}


NO_LIMITS = Limits()


class ChildSpec(NamedTuple):
    """What to run. `env` is the whole environment, nothing is inherited; `pass_fds` stay open in the child.

    `argv[0]` is looked up in the PATH of `env` unless it has a slash. `direct` is for what `Sandbox.enter`
    gives: a program that sets limits and the death signal by itself. `terminal` is for a program whose
    standard input is a terminal that it controls.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = MappingProxyType({})
    limits: Limits = NO_LIMITS
    pass_fds: tuple[int, ...] = ()
    direct: bool = False
    terminal: bool = False


class Leader:
    """A started process and its group. The group ends with it: what it leaves behind is killed.

    A process that opened a session of its own has left the group; only a sandbox with a process namespace
    ends that one.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", loop: asyncio.AbstractEventLoop) -> None:
        self._process = process
        self._loop = loop
        self._exit: asyncio.Future[int] = loop.create_future()
        self._watch()

    @property
    def pid(self) -> int:
        """The process id, which is the id of its group too."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """False as soon as its end is known."""
        return not self._exit.done()

    async def wait(self, timeout_s: float | None = None) -> int:
        """The exit status; negative for the signal that ended it. Raises TimeoutError."""
        return await asyncio.wait_for(asyncio.shield(self._exit), timeout_s)

    def signal(self, number: int) -> None:
        """Send `number` to the whole group, if it still runs."""
        if self.running:
            _signal_group(self.pid, number)

    async def stop(self, grace_s: float) -> int:
        """TERM to the group, wait `grace_s`, KILL to the group; returns when it is reaped.

        A cancelled stop kills at once and still reaps.
        """
        try:
            if self.running and grace_s > 0:
                self.signal(signal.SIGTERM)
                with suppress(TimeoutError):
                    await self.wait(grace_s)
        finally:
            self.signal(signal.SIGKILL)
            with suppress(TimeoutError):  # a process stuck in the kernel is reaped whenever it gets out
                await self.wait(_REAP_S)
        return -signal.SIGKILL if self.running else self._exit.result()

    def _watch(self) -> None:
        try:
            descriptor = os.pidfd_open(self.pid)
        except (
            AttributeError,
            OSError,
        ):  # another system, or one that forbids it
            threading.Thread(target=self._wait_in_thread, daemon=True).start()
            return

        def ended() -> None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)
            # not reaped yet, so its number still names this group and no other
            _signal_group(self.pid, signal.SIGKILL)
            self._finish(self._process.wait())

        self._loop.add_reader(descriptor, ended)

    def _wait_in_thread(self) -> None:
        status = self._process.wait()
        _signal_group(self.pid, signal.SIGKILL)
        with suppress(RuntimeError):  # the loop was closed meanwhile
            self._loop.call_soon_threadsafe(self._finish, status)

    def _finish(self, status: int) -> None:
        if not self._exit.done():
            self._exit.set_result(status)


class Streams(NamedTuple):
    """The descriptors of the child's standard streams; the caller closes its copies after the start."""

    stdin: int = subprocess.DEVNULL
    stdout: int = subprocess.DEVNULL
    stderr: int = subprocess.DEVNULL


@contextmanager
def start_errors(spec: ChildSpec) -> Generator[None]:
    """Turn what the system says against a start into a `StartError`."""
    name = spec.argv[0]
    try:
        yield
    except OSError as error:
        large = error.errno == errno.E2BIG
        fix = "put what is long into a file" if large else "free memory, processes, open files or disk space"
        raise StartError(f"{name} cannot run: {error.strerror}", fix) from error
    except ValueError as error:
        raise StartError(
            f"{name} cannot run: an argument or variable cannot be passed on: {error}", "correct it"
        ) from error


def start_leader(spec: ChildSpec, streams: Streams) -> Leader:
    """Start `spec` in a session of its own. Raises `StartError`. Must be called inside the running loop."""
    program = resolve(spec)
    with start_errors(spec):
        process = subprocess.Popen(  # the launch itself takes about 2 ms
            spec.argv if spec.direct else (*_launcher(spec, program), *spec.argv),
            stdin=streams.stdin,
            stdout=streams.stdout,
            stderr=streams.stderr,
            cwd=spec.cwd,
            env=dict(spec.env),
            pass_fds=spec.pass_fds,
            start_new_session=True,
        )
    return Leader(process, asyncio.get_running_loop())


class Drain:
    """Reads a pipe as it fills and hands each piece to `sink`; at most 64 KiB per turn of the loop."""

    def __init__(self, descriptor: int, sink: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._open = True
        os.set_blocking(descriptor, False)
        self._loop.add_reader(descriptor, self._read)

    def finish(self) -> None:
        """Take what is in the pipe now and close it, also when somebody still holds the other end.

        Who writes on and on is not waited for: no pipe holds more than a MiB.
        """
        for _ in range(_MOST_LEFT // _READ):
            if not self._open or not self._read():
                break
        self._close()

    def _read(self) -> bool:
        try:
            data = os.read(self._descriptor, _READ)
        except BlockingIOError:
            return False
        if data:
            self._sink(data)
        else:
            self._close()
        return bool(data)

    def _close(self) -> None:
        if self._open:
            self._open = False
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)


def _launcher(spec: ChildSpec, program: str) -> tuple[str, ...]:
    limits = [f"{name}={value}" for name, value in spec.limits.as_rlimits().items()]
    ctype = ("ctype",) if "LC_CTYPE" in spec.env else ()
    setup = ",".join((*limits, *ctype, *(("terminal",) if spec.terminal else ())))
    return sys.executable, "-I", "-S", _LAUNCHER, str(os.getpid()), setup, program


def resolve(spec: ChildSpec) -> str:
    """The file that `spec` runs. Raises StartError when it or the working folder is missing."""
    name = spec.argv[0]
    if not Path(spec.cwd).is_dir():
        raise StartError(
            f"{name} cannot run: its working folder {spec.cwd} is not there", "name another folder"
        )
    search = spec.env.get("PATH", os.defpath)
    found = shutil.which(os.path.join(spec.cwd, name) if "/" in name else name, path=search)
    if found is not None:
        return found
    if "/" in name:
        raise StartError(f"{name} cannot run: there is no program of that name", "check the path")
    raise StartError(f"{name} cannot run: it is not installed", f"install {name}, or give its full path")


def _signal_group(group: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
