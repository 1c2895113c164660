"""The real program as a child: through pipes, or on a pseudo-terminal with deadlines instead of sleeps."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from typing import Any

from limnos.frontends.cli.approvals import READABLE_SECONDS
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.markdown import Reader, render
from limnos.frontends.cli.spans import Line, plain

SHARED = Path(__file__).parents[3] / ".." / "shared"
DEADLINE_SECONDS = 20.0
_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def look(columns: int = 80) -> Look:
    """Lines as on a terminal of so many columns."""
    return Look(lambda: columns, home="/home/u")


def text(rows: Sequence[Line]) -> list[str]:
    """Rows without their roles, and without blanks at the end."""
    return [plain(row).rstrip() for row in rows]


def laid_out(source: str, cells: int) -> list[Line]:
    """A whole markdown text as rows."""
    reader = Reader()
    return [row for block in reader.feed(source) + reader.close() for row in render(block, cells)]


def script(folder: Path, *steps: Mapping[str, Any]) -> str:
    """A scripted model as a value of LIMNOS_MODEL."""
    path = folder / "script.json"
    path.write_text(json.dumps({"steps": list(steps)}), encoding="utf-8")
    return f"scripted:{path}"


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Everything below `folder`; nothing of the machine that runs the tests."""
    return {
        "HOME": str(folder),
        "LIMNOS_HOME": str(folder / "home"),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "LIMNOS_MEMORY_EMBEDDER": "off",
        **more,
    }


def work_folder(folder: Path) -> Path:
    """A folder to work in, beside the home."""
    (folder / "work").mkdir(exist_ok=True)
    return folder / "work"


def limnos(
    folder: Path, *arguments: str, given: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the program with pipes and wait for it; without `given` stdin is empty."""
    return subprocess.run(
        [sys.executable, "-m", "limnos", *arguments],
        input=given if given is not None else "",
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env=environment(folder, **variables),
        cwd=work_folder(folder),
        timeout=60,
        check=False,
    )


@dataclass
class Tty:
    """The program on a pseudo-terminal."""

    pid: int
    descriptor: int
    output: str = ""
    _seen: int = 0
    _ended: bool = False

    @classmethod
    def start(
        cls, folder: Path, *arguments: str, columns: int = 80, rows: int = 24, **variables: str
    ) -> "Tty":
        """Start it; the terminal has its size before the program runs."""
        pid, descriptor = pty.fork()
        if pid == 0:
            os.chdir(work_folder(folder))
            _resize(0, columns, rows)
            os.execve(
                sys.executable,
                [sys.executable, "-m", "limnos", *arguments],
                environment(folder, **variables),
            )
        return cls(pid, descriptor)

    def send(self, typed: str) -> None:
        """Type something."""
        os.write(self.descriptor, typed.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Change the size, as a window manager does."""
        _resize(self.descriptor, columns, rows)

    def wait_for(self, wanted: str, seconds: float = DEADLINE_SECONDS) -> str:
        """Read until `wanted` stands behind what earlier calls have passed; the output up to its end."""
        deadline = time.monotonic() + seconds
        while True:
            shown = strip(self.output)
            place = shown.find(wanted, self._seen)
            if place >= 0:
                begin, self._seen = self._seen, place + len(wanted)
                return shown[begin : self._seen]
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"{wanted!r} did not come; there is:\n{shown[self._seen :]}")

    def let_question_be_read(self) -> None:
        """Let the time pass in which a question that is on the screen takes no answer yet."""
        deadline = time.monotonic() + READABLE_SECONDS + 0.05
        while (left := deadline - time.monotonic()) > 0 and not self._ended:
            self._read(left)

    def end(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Wait for the end of the program; its exit code as a shell would give it."""
        deadline = time.monotonic() + seconds
        while not self._ended:
            left = deadline - time.monotonic()
            if left <= 0:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"the program did not end:\n{strip(self.output)}")
            self._read(left)
        _, status = os.waitpid(self.pid, 0)
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(status)

    def signal(self, number: int) -> None:
        """Send a signal to the program."""
        os.kill(self.pid, number)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.descriptor, 65_536)
        except OSError:
            data = b""
        self._ended = self._ended or not data
        self.output += data.decode("utf-8", "replace")
        return bool(data)


def strip(output: str) -> str:
    """Terminal output without its sequences; the terminal adds a return to each line end."""
    return _CSI.sub("", output).replace("\r\r\n", "\r\n")


def _resize(descriptor: int, columns: int, rows: int) -> None:
    ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
