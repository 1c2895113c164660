"""`limnos run` on a terminal."""

import re
from pathlib import Path

from tests.frontends.cli.support import Tty, limnos, script, work_folder
from tests.store.disks import full_disk

_ROOM = 65_536  # bytes: enough to open a session

WRITE = {"calls": [{"name": "run_command", "arguments": {"command": "echo made > made.txt"}}]}
SLOW = {"calls": [{"name": "run_command", "arguments": {"command": "echo begun; sleep 60"}}]}
ANSWER = {"text": "The largest file is `film.mp4`, 214 MB."}


def _start(folder: Path, *steps: dict[str, object], **variables: str) -> Tty:
    return Tty.start(folder, "run", "Which file?", LIMNOS_MODEL=script(folder, *steps), **variables)


def test_the_answer_stands_in_column_3_and_a_summary_follows(tmp_path: Path) -> None:
    run = _start(tmp_path, ANSWER)
    shown = run.wait_for("tokens, free")
    assert "\n  The largest file is `film.mp4`, 214 MB." in f"\n{shown}"
    assert "✓ done in" in shown
    assert run.end() == 0


def test_a_letter_and_enter_answer_the_question(tmp_path: Path) -> None:
    run = _start(tmp_path, WRITE, ANSWER)
    run.wait_for("? n no   y once")
    run.let_question_be_read()
    run.send("y\n")
    run.wait_for("✓ allowed by you, once")
    run.wait_for("tokens, free")
    assert run.end() == 0
    assert (tmp_path / "work" / "made.txt").read_text() == "made\n"


def test_what_was_typed_before_the_question_is_no_answer(tmp_path: Path) -> None:
    run = _start(tmp_path, {**WRITE, "text": "one two three four five six", "delay": 0.1}, ANSWER)
    run.send("y\n")
    run.wait_for("? n no   y once")
    run.let_question_be_read()
    assert not (tmp_path / "work" / "made.txt").exists()
    run.send("n: not now\n")
    run.wait_for("denied by you")
    run.wait_for("not now")
    run.end()
    assert not (tmp_path / "work" / "made.txt").exists()


def test_ctrl_c_stops_the_call_at_once_and_keeps_the_session(tmp_path: Path) -> None:
    run = _start(tmp_path, SLOW)
    run.wait_for("? n no   y once")
    run.let_question_be_read()
    run.send("y\n")
    run.wait_for("begun")
    run.send("\x03")
    run.wait_for("stopping; Ctrl-C again ends it without clean-up", seconds=0.5)
    run.wait_for("cancelled")
    run.wait_for("stopped by you; turn closed, session")
    assert run.end() == 130


def test_a_dumb_terminal_gets_ascii_signs_and_no_sequences(tmp_path: Path) -> None:
    run = _start(tmp_path, ANSWER, TERM="dumb", PYTHONIOENCODING="ascii")
    shown = run.wait_for("tokens, free")
    assert "+ done in" in shown
    assert "\x1b" not in run.output
    assert run.end() == 0


def test_colours_are_the_sixteen_and_can_be_switched_off(tmp_path: Path) -> None:
    for variables, coloured in (({}, True), ({"NO_COLOR": ""}, True), ({"NO_COLOR": "1"}, False)):
        run = _start(tmp_path, ANSWER, **variables)
        run.wait_for("tokens, free")
        run.end()
        assert ("\x1b[32m✓" in run.output) == coloured
        assert "\x1b[38" not in run.output


def test_a_no_to_the_only_question_is_no_error_and_its_exit_code_says_so(tmp_path: Path) -> None:
    run = _start(tmp_path, WRITE, {"text": "I did not."})
    run.wait_for("? n no   y once")
    run.let_question_be_read()
    run.send("n\n")
    run.wait_for("- denied by you")
    run.wait_for("- nothing more was done; session ")
    run.wait_for("kept  next: limnos open")
    assert run.end() == 4
    assert "error:" not in run.output
    assert "fix:" not in run.output


def test_what_is_no_answer_is_said_to_be_none_and_runs_nothing(tmp_path: Path) -> None:
    run = _start(tmp_path, WRITE, {"text": "I did not."})
    run.wait_for("? n no   y once")
    run.let_question_be_read()
    run.send("\x1by\n")
    run.wait_for("? only letters answer here, no Alt or arrow keys; answer with n, y, e, v")
    run.wait_for("? n no   y once")
    run.send("what is it\n")
    run.wait_for("? that is no answer; answer with n, y, e, v")
    run.wait_for("? n no   y once")
    assert not (tmp_path / "work" / "made.txt").exists()
    run.send("n\n")
    run.wait_for("- denied by you")
    assert run.end() == 4


def test_a_no_with_json_ends_in_its_event_and_without_an_error(tmp_path: Path) -> None:
    run = Tty.start(
        tmp_path, "run", "x", "--json", LIMNOS_MODEL=script(tmp_path, WRITE, {"text": "I did not."})
    )
    run.wait_for("? n no   y once")
    run.let_question_be_read()
    run.send("n\n")
    run.wait_for('"type":"turn_finished","reason":"denied","exit":4')
    run.wait_for("- nothing more was done; session ")
    assert run.end() == 4
    assert "error:" not in run.output
    assert "fix:" not in run.output


def test_a_full_disk_names_the_command_that_goes_on_here(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        work_folder(disk.folder)
        model = script(disk.folder, {"text": "never"})
        room = disk.folder / "room"
        room.write_bytes(bytes(_ROOM))
        with disk.filled(_ROOM):
            room.unlink()
            done = limnos(disk.folder, "run", "-", given="x" * 2 * _ROOM, LIMNOS_MODEL=model)
    assert done.returncode == 1
    what, fix = done.stderr.splitlines()[-2:]
    assert what.startswith("error: nothing is saved from now on")
    assert re.fullmatch(r"fix: free some space, then limnos run --continue \w+", fix)
