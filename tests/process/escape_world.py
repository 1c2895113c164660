"""The machine outside, as the attempts of `escapes` find it, and what a look at it says afterwards."""

import os
import platform
import re
import resource
import secrets
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from limnos.process.capture import run
from limnos.process.profile import Profile
from limnos.process.protected import IN_WORKSPACE
from limnos.process.sandbox import Sandbox, probe
from limnos.process.seccomp import MACHINES
from limnos.process.spawn import ChildSpec

from .escapes import PRESENT, Attempt

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
GIT = {"PATH": PATH, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent",
       "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
PYTHON = os.path.realpath(sys.executable)
_MORE = {
    "x86_64": {"prctl": 157, "capset": 126, "setuid": 105, "renameat2": 316},
    "aarch64": {"prctl": 167, "capset": 91, "setuid": 146, "renameat2": 276},
}
_GIT_PARTS = ("config", "config.worktree", "commondir", "hooks", "modules", "worktrees")
_GUARDED_GITS = (".git", "sub/.git", "deep/er/.git", "mod/.git", "scripts/hooks", "shared.gitconfig")

_PRELUDE = """
import ctypes, os, platform, sys
NR = {numbers!r}
X86 = platform.machine() == 'x86_64'
WS, OUT, STATE, INNER, PATH_SOCKET, ABSTRACT = map(
    os.environ.get, 'WS OUT STATE INNER PATH_SOCKET ABSTRACT'.split())
PORT, UDP_PORT = int(os.environ['PORT']), int(os.environ['UDP_PORT'])
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def raw(number, *given):
    words = [ctypes.c_long(one) if isinstance(one, int) else ctypes.c_char_p(one) for one in given]
    return libc.syscall(ctypes.c_long(number), *words)
def call(number, *given):  # refused by the filter, whatever the arguments
    got = raw(number, *given)
    if got >= 0 or ctypes.get_errno() not in (1, 38, 97): print('ESCAPED', got, ctypes.get_errno())
def done(number, *given):
    if raw(number, *given) >= 0: print('ESCAPED')
"""
_DRIVER = """
for file in "$1"/*; do
  case $file in *.py) runner="{python} -I -S" ;; *) runner=bash ;; esac
  timeout -k 1 8 $runner "$file" > "$WS/said/$(basename "$file")" 2>&1 < /dev/null
done
exit 0
"""


def needed_sandbox() -> Sandbox:
    """The sandbox of this machine; its absence is a failure, not a skip."""
    found = probe()
    assert isinstance(found, Sandbox), found
    return found


def git(folder: Path, *words: str) -> None:
    subprocess.run(("git", *words), cwd=folder, env=GIT, check=True, capture_output=True)


class World:
    """A workspace, secrets around it, servers and a process; close it at the end."""

    def __init__(self, folder: Path) -> None:
        self.sleep = str(secrets.randbelow(10**8) + 10**8)
        self.canary = f"CANARY-{secrets.token_hex(8)}"
        self.outside, self.state, self.workspace = folder / "outside", folder / "state", folder / "ws"
        self.inner = self.workspace / "data" / "state"
        for one in (self.outside, self.state, self.workspace, self.inner):
            one.mkdir(parents=True)
        (self.outside / "secret").write_text(self.canary)
        for hidden in (self.state, self.inner):
            (hidden / "token").write_text(self.canary)
        self._undo = ExitStack()
        self._fill()
        self._listen()
        script = ("bash", "-c", "exec -a limnos-victim sleep 600")
        self.victim = subprocess.Popen(
            script, env={"PATH": PATH, "KEY": self.canary}, stdin=subprocess.DEVNULL
        )
        self._nice = os.getpriority(os.PRIO_PROCESS, self.victim.pid)
        self.before = self.look()

    def close(self) -> None:
        self.victim.kill()
        self.victim.wait()
        self._undo.close()

    def _fill(self) -> None:
        ws = self.workspace
        for path in (*PRESENT, "scripts/hooks/x", "shared.gitconfig", "file.txt"):
            (ws / path).parent.mkdir(parents=True, exist_ok=True)
            (ws / path).write_text(f"the person's {path}\n" if "config" not in path else "[x]\n\ty = 1\n")
        git(ws, "init", "-q", ".")
        for name in ("sub", "deep/er"):
            (ws / name).mkdir(parents=True)
            git(ws / name, "init", "-q", ".")
            (ws / name / "f").write_text("x")
        git(ws, "config", "core.hooksPath", "scripts/hooks")
        git(ws, "config", "include.path", "../shared.gitconfig")
        (ws / ".gitignore").write_text("said\n*\n!file.txt\n")
        git(ws, "add", "file.txt")
        git(ws, "commit", "-qm", "first")
        (ws / "mod").mkdir()
        (ws / ".git/modules").mkdir()
        git(self.outside, "init", "-q", "--separate-git-dir", str(ws / ".git/modules/mod"), str(ws / "mod"))
        (ws / "link-out").symlink_to(self.outside)
        (ws / "link-secret").symlink_to(self.outside / "secret")

    def _listen(self) -> None:
        self.tcp, self.tcp6 = socket.create_server(("127.0.0.1", 0)), None
        port = self.tcp.getsockname()[1]
        self.udp = socket.socket(type=socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.paths = [self._unix(str(self.outside / "sock")), self._unix(str(self.workspace / "person.sock"))]
        self.abstract_name = f"limnos-{secrets.token_hex(4)}"
        self.paths.append(self._unix("\0" + self.abstract_name))
        self.dgram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.dgram.bind(str(self.workspace / "person.dgram"))
        for one in (self.tcp, self.udp, self.dgram, *self.paths):
            one.setblocking(False)
            self._undo.callback(one.close)
        self.port, self.udp_port = port, self.udp.getsockname()[1]

    def _unix(self, name: str) -> socket.socket:
        server = socket.socket(socket.AF_UNIX)
        server.bind(name)
        server.listen(100)
        return server

    def reached(self) -> list[str]:
        """The servers that somebody reached since the last look."""
        found: list[str] = []
        for name, server in (
            ("tcp", self.tcp),
            *((f"unix {one.getsockname()!r}", one) for one in self.paths),
        ):
            try:
                server.accept()[0].close()
                found.append(name)
            except BlockingIOError:
                continue
        for name, server in (("udp", self.udp), ("dgram", self.dgram)):
            try:
                server.recv(10)
                found.append(name)
            except BlockingIOError:
                continue
        return found

    def look(self) -> dict[str, object]:
        """Everything that must stay as it is: outside, hidden, protected."""
        places = [self.outside, self.state, self.inner]
        places += [self.workspace / name.path for name in IN_WORKSPACE if name.path != ".git"]
        places += [
            self.workspace / git / part
            for git in _GUARDED_GITS
            for part in ("", *_GIT_PARTS)
            if part or ".git" not in git[-4:]
        ]
        places += [self.workspace / "mod/.git"]
        found: dict[str, object] = {}
        for place in places:
            found |= _content(place)
        return found

    def changed(self) -> list[str]:
        """What is not as it was."""
        after = self.look()
        return sorted(path for path in {*self.before, *after} if self.before.get(path) != after.get(path))

    def victim_is_well(self) -> bool:
        """Neither ended nor stopped, with the priority and the limits that it had."""
        pid = self.victim.pid
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        same = os.getpriority(os.PRIO_PROCESS, pid) == self._nice
        return state in "SR" and same and resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] > 1

    def environment(self) -> dict[str, str]:
        return {
            "PATH": PATH, "HOME": os.path.expanduser("~"), "WS": str(self.workspace),
            "OUT": str(self.outside),
            "STATE": str(self.state), "INNER": str(self.inner), "PORT": str(self.port),
            "UDP_PORT": str(self.udp_port), "PATH_SOCKET": str(self.outside / "sock"),
            "ABSTRACT": self.abstract_name, "VICTIM": str(self.victim.pid),
            "PYTHON": PYTHON, "SLEEP": self.sleep,
        }  # fmt: skip

    def profile(self, **changes: object) -> Profile:
        plain = Profile(
            str(self.workspace), (str(self.state), str(self.inner)), readable=(str(self.attempts),)
        )
        return plain._replace(**changes)  # type: ignore[arg-type]

    @property
    def attempts(self) -> Path:
        return self.workspace.parent / "attempts"

    def write(self, chosen: Sequence[Attempt]) -> ChildSpec:
        """Put the scripts in place and give what runs them all."""
        shutil.rmtree(self.attempts, ignore_errors=True)
        self.attempts.mkdir()
        shutil.rmtree(self.workspace / "said", ignore_errors=True)
        (self.workspace / "said").mkdir()
        machine = MACHINES[platform.machine()]
        prelude = _PRELUDE.format(numbers={**machine.refused, **machine.special, **_MORE[platform.machine()]})
        for number, attempt in enumerate(chosen):
            file = self.attempts / f"{number:03}.{'py' if attempt.python else 'sh'}"
            file.write_text(prelude + _dedent(attempt.script) if attempt.python else attempt.script)
        driver = _DRIVER.format(python=PYTHON)
        return ChildSpec(
            ("bash", "-c", driver, "driver", str(self.attempts)), str(self.workspace), self.environment()
        )

    def said(self, chosen: Sequence[Attempt]) -> dict[Attempt, str]:
        """What each script printed."""
        found = {
            int(file.name[:3]): file.read_text(errors="replace")
            for file in (self.workspace / "said").iterdir()
        }
        assert len(found) == len(chosen)
        return {attempt: found[number] for number, attempt in enumerate(chosen)}

    def escaped(self, said: Mapping[Attempt, str]) -> dict[str, str]:
        """The attempts whose output shows that they got out."""
        return {
            f"{attempt.family}: {attempt.name}": text[-300:]
            for attempt, text in said.items()
            if self.canary in text
            or re.search("^ESCAPED" if attempt.python else "ESCAPED", text, re.MULTILINE)
        }

    async def try_inside(
        self, sandbox: Sandbox, chosen: Sequence[Attempt], **profile: object
    ) -> dict[Attempt, str]:
        spec = self.write(chosen)
        with sandbox.enter(spec, self.profile(**profile)) as inner:
            done = await run(inner, timeout_s=120)
        assert (done.exit, done.timed_out) == (0, False), done.output
        return self.said(chosen)

    async def try_bare(self, chosen: Sequence[Attempt]) -> dict[Attempt, str]:
        await run(self.write(chosen), timeout_s=120)
        return self.said(chosen)


def _content(place: Path) -> dict[str, object]:
    if place.is_symlink():
        return {str(place): ("link", os.readlink(place))}
    if place.is_dir():
        found: dict[str, object] = {str(place): "folder"}
        for inside in place.iterdir():
            found |= _content(inside)
        return found
    if place.is_file():
        return {str(place): (place.read_bytes(), place.stat().st_mode)}
    return {str(place): "special"} if place.exists() else {}


def _dedent(script: str) -> str:
    lines = script.strip("\n").split("\n")
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:] for line in lines)
