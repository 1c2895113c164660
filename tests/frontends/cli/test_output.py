"""Where the output cannot go, people are told; where the words beside it cannot, the work goes on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontends.cli.support import environment, script, work_folder


def _shell(folder: Path, words: str) -> subprocess.CompletedProcess[str]:
    """`limnos WORDS` as a shell runs it."""
    return subprocess.run(
        ["bash", "-c", f"{sys.executable} -m limnos {words}"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
        env=environment(folder, LIMNOS_MODEL=script(folder, {"text": "ok"})), cwd=work_folder(folder),
    )  # fmt: skip


@pytest.mark.parametrize("words", ["--help", "doctor", "run hi", "run --json hi", "config list --json"])
def test_a_full_disk_behind_the_output_is_told_in_two_lines(tmp_path: Path, words: str) -> None:
    done = _shell(tmp_path, f"{words} > /dev/full")

    what, fix = done.stderr.splitlines()
    assert (done.returncode, fix) == (1, "fix: write it to a place that has room")
    assert what == "error: the output cannot be written: No space left on device"


@pytest.mark.parametrize(("words", "code"), [("run hi", 0), ("run", 2), ("frobnicate", 2)])
def test_what_cannot_be_said_beside_the_output_stops_nothing(tmp_path: Path, words: str, code: int) -> None:
    done = _shell(tmp_path, f"{words} 2> /dev/full")

    assert (done.returncode, done.stdout) == (code, "ok\n" if code == 0 else "")


def test_a_stdin_that_was_left_non_blocking_waits_again_for_what_is_not_there_yet(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.write(writer, b"a task")
    os.close(writer)
    done = subprocess.run(
        [sys.executable, "-m", "limnos", "run", "-"],
        stdin=reader, capture_output=True, text=True, timeout=60, check=False,
        env=environment(tmp_path, LIMNOS_MODEL=script(tmp_path, {"text": "ok"})), cwd=work_folder(tmp_path),
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
    assert os.get_blocking(reader)
    os.close(reader)
