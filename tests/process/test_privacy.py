"""What the kernel holds in memory is read by nobody else and lands in no core file."""

import subprocess
import sys
from pathlib import Path

PRIVATE = "from limnos.process.privacy import keep_private\nassert keep_private() == ''\n"
# An account that is not root is what the attribute protects from: root may read everything anyway.
AS_NOBODY = (
    "import os\n"
    "if os.geteuid() == 0:\n"
    "    os.setgroups([])\n"
    "    os.setresgid(65534, 65534, 65534)\n"
    "    os.setresuid(65534, 65534, 65534)\n"
)
DUMPABLE = (
    "import ctypes\nprint('dumpable', ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
    "print(open('/proc/self/limits').read())\n"
)
READ_BY_A_CHILD = (
    "import os\n"
    "{hide}"
    "reader = os.fork()\n"
    "if reader == 0:\n"
    "    try: os.close(os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)); os._exit(7)\n"
    "    except OSError: os._exit(9)\n"
    "print('code', os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]))\n"
)


def _python(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_core_is_written_and_the_memory_is_not_dumpable(tmp_path: Path) -> None:
    shown = _python(PRIVATE + DUMPABLE, tmp_path)

    assert "dumpable 0" in shown
    core = next(row for row in shown.splitlines() if row.startswith("Max core file size")).split()
    assert core[4:6] == ["0", "0"]


def test_without_it_the_memory_is_dumpable(tmp_path: Path) -> None:
    assert "dumpable 1" in _python(DUMPABLE, tmp_path)


def test_another_process_of_the_same_account_cannot_open_the_memory(tmp_path: Path) -> None:
    # the switch of the account makes a process undumpable by itself, so it is made dumpable again first
    again = AS_NOBODY + "import ctypes; ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)\n"
    load = "from limnos.process.privacy import keep_private\n"

    open_to_all = _python(load + again + READ_BY_A_CHILD.replace("{hide}", ""), tmp_path)
    hidden = _python(load + again + READ_BY_A_CHILD.replace("{hide}", "keep_private()\n"), tmp_path)

    assert open_to_all == "code 7\n"
    assert hidden == "code 9\n"
