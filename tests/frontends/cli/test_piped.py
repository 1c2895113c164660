"""What comes through stdin: whole, bounded, and text."""

import subprocess
import sys
from pathlib import Path

import pytest

from limnos.agent.runner import MAX_INPUT
from tests.frontends.cli.support import environment, script, work_folder

FIX = "fix: put it into a file and name the file in the task\n"


def _run(folder: Path, given: str, answer: dict[str, object]) -> subprocess.CompletedProcess[bytes]:
    """`limnos run "what is it" -` behind the shell command `given`."""
    command = f"{given} | {sys.executable} -m limnos run 'what is it' -"
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        env=environment(folder, LIMNOS_MODEL=script(folder, answer)),
        cwd=work_folder(folder),
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("yes", "stdin has more than 1,000,000 characters"),
        (f"head -c {MAX_INPUT + 1} /dev/zero | tr '\\0' x", "stdin has more than 1,000,000 characters"),
        ("cat /dev/zero", "stdin is no text: it holds NUL bytes"),
        ("(yes | head -c 9000; head -c 1 /dev/zero)", "stdin is no text: it holds NUL bytes"),
    ],
)
def test_what_cannot_be_a_task_is_refused_without_reading_on(tmp_path: Path, given: str, said: str) -> None:
    done = _run(tmp_path, given, {"text": "never"})

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == f"error: {said}\n{FIX}"


def test_bytes_that_are_no_text_are_replaced_and_the_person_is_told(tmp_path: Path) -> None:
    done = _run(tmp_path, r"printf 'caf\xe9 noir'", {"text": "ok", "expect": ["caf\ufffd noir"]})

    assert (done.returncode, done.stdout) == (0, b"ok\n")
    said = "? stdin holds bytes that are no UTF-8; each stands as \ufffd in the task\n"
    assert done.stderr.decode() == said


def test_a_mark_names_the_encoding_and_lines_end_in_one_way(tmp_path: Path) -> None:
    given = r"printf '\xff\xfea\x00\r\x00\n\x00\xe9\x00'"

    done = _run(tmp_path, given, {"text": "ok", "expect": ["a\né"]})

    assert (done.returncode, done.stdout, done.stderr) == (0, b"ok\n", b"")


def test_the_longest_input_is_taken_whole(tmp_path: Path) -> None:
    given = f"head -c {MAX_INPUT - 20} /dev/zero | tr '\\0' x"

    done = _run(tmp_path, given, {"text": "never"})

    assert b"characters" not in done.stderr
