"""Chats where nothing is redrawn: screen readers, dumb terminals, pipes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.frontends.cli.support import Tty, environment, limnos, script, work_folder
from tests.store.disks import full_disk

_ROOM = 65_536  # bytes: enough to open a session
WRITE = {"calls": [{"name": "run_command", "arguments": {"command": "echo made > made.txt"}}]}


def _behind(folder: Path, given: str, model: str) -> "subprocess.CompletedProcess[str]":
    """The chat behind the shell command `given`."""
    return subprocess.run(
        ["bash", "-c", f"{given} | {sys.executable} -m limnos"],
        capture_output=True, text=True, env=environment(folder, LIMNOS_MODEL=model),
        cwd=work_folder(folder), timeout=60, check=False,
    )  # fmt: skip


def test_accessible_mode_announces_itself_and_moves_no_cursor(tmp_path: Path) -> None:
    chat = Tty.start(
        tmp_path, ACCESSIBLE="1", LIMNOS_MODEL=script(tmp_path, WRITE, {"text": "I did not push.\nReally."})
    )
    assert chat.wait_for("you: ").startswith(
        "limnos, accessible mode: plain lines, nothing is redrawn. Type /help."
    )
    chat.send("push the docs\n")
    chat.wait_for("limnos: working.")
    chat.wait_for("question: run_command asks")
    chat.wait_for("1 no. 2 once. 4 edit. 5 no with a reason. 6 show all.")
    chat.let_question_be_read()
    chat.send("x\n")
    chat.wait_for("limnos: 1 line queued; answer with a number.")
    chat.send("/drop 1\n")
    chat.wait_for("answer: ")
    chat.send("3\n")
    chat.wait_for("limnos: that is not offered here; answer with 1, 2, 4, 5 or 6.")
    chat.wait_for("answer: ")
    chat.send("1\n")
    chat.wait_for("limnos: you answered no.")
    chat.wait_for("limnos: I did not push.\r\n  Really.")
    chat.wait_for("limnos: every call of the last step was denied. Next: say what should be done instead.")
    chat.send("/quit\n")
    assert chat.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*[A-HJKf]", chat.output)
    assert "fix:" not in chat.output


def test_a_dumb_terminal_gets_whole_lines(tmp_path: Path) -> None:
    chat = Tty.start(tmp_path, TERM="dumb", LIMNOS_MODEL=script(tmp_path, WRITE, {"text": "done now"}))
    chat.wait_for("› ")
    chat.send("go\n")
    chat.wait_for("? n no   y once")
    chat.let_question_be_read()
    chat.send("x\n")
    chat.wait_for("› 1 line queued; answer with n, y")
    chat.send("/drop 1\n")
    chat.wait_for("? n no   y once")
    chat.send("\x1by\n")
    chat.wait_for("? only letters answer here")
    chat.wait_for("? n no   y once")
    chat.send("y\n")
    chat.wait_for("✓ allowed by you, once")
    chat.wait_for("\r\n  done now")
    chat.send("\x04")
    assert chat.end() == 0
    assert "\x1b" not in chat.output


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"ACCESSIBLE": "1"}], ids=["dumb", "accessible"])
def test_what_a_stop_left_in_the_queue_is_told_with_the_ways_on(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    slow = {"calls": [{"name": "run_command", "arguments": {"command": "echo made > made.txt"}}]}
    chat = Tty.start(tmp_path, LIMNOS_MODEL=script(tmp_path, slow, {"text": "went on"}), **variables)
    chat.send("go\n")
    chat.wait_for("run_command asks")
    chat.let_question_be_read()
    chat.send("also this\n")
    chat.wait_for("1 line queued; answer with")
    chat.send("\x03")
    chat.wait_for("1 line queued; /continue goes on, /drop 1 takes back")
    chat.send("/continue\n")
    chat.wait_for("went on")
    chat.send("/quit\n")
    assert chat.end() == 0


def test_a_pipe_is_answered_line_by_line_and_then_it_ends(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "one", "expect": ["first"]}, {"text": "two", "expect": ["second"]})
    done = limnos(tmp_path, given="first\nsecond\n", LIMNOS_MODEL=model)
    assert done.returncode == 0
    assert done.stdout == "  one\n  two\n"
    assert "\x1b" not in done.stdout + done.stderr


def test_more_piped_lines_than_the_queue_holds_are_all_answered(tmp_path: Path) -> None:
    model = script(tmp_path, *({"text": f"answer {n}"} for n in range(300)))
    done = limnos(tmp_path, given="".join(f"line {n}\n" for n in range(300)), LIMNOS_MODEL=model)
    assert done.returncode == 0
    assert "error:" not in done.stderr
    assert done.stdout.splitlines() == [f"  answer {n}" for n in range(300)]


def test_a_piped_line_without_an_end_is_refused(tmp_path: Path) -> None:
    done = _behind(tmp_path, "cat /dev/zero", script(tmp_path, {"text": "never"}))
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error: stdin has more than 1,000,000 characters\nfix: put it into a file" in done.stderr


def test_a_program_that_writes_faster_than_it_is_answered_loses_nothing(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "one", "expect": ["first"]}, {"text": "two", "expect": ["last"]})
    done = _behind(tmp_path, "(echo first; yes '' | head -n 200000; echo last)", model)
    assert done.returncode == 0
    assert done.stdout == "  one\n  two\n"


@pytest.mark.parametrize(
    ("given", "answers"),
    [("first\n/retry\n", 2), ("/now first\n", 1), ("/continue\n", 0), ("/nothing\n", 0)],
)
def test_a_piped_command_that_starts_a_turn_is_waited_for(tmp_path: Path, given: str, answers: int) -> None:
    model = script(tmp_path, *({"text": "here", "delay": 0.01} for _ in range(answers)))
    done = limnos(tmp_path, given=given, LIMNOS_MODEL=model)
    assert done.returncode == 0
    assert done.stdout.splitlines() == ["  here"] * answers


def test_a_pipe_ends_when_nothing_can_be_saved_any_more(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        work_folder(disk.folder)
        model = script(disk.folder, {"text": "never"})
        room = disk.folder / "room"
        room.write_bytes(bytes(_ROOM))
        with disk.filled(_ROOM):
            room.unlink()
            done = limnos(disk.folder, given="x" * 2 * _ROOM + "\nsecond\n", LIMNOS_MODEL=model)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "error: nothing is saved from now on" in done.stderr
    assert re.search(r"\nfix: free some space, then limnos open \w+\n", done.stderr)
