"""`limnos up`, `down`, `status` and `logs`, and every other command while a daemon holds the home."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.agent.settings import read_environment
from limnos.service.control import stop
from limnos.service.daemon import holder
from limnos.service.place import Place
from limnos.store.audit import read_history
from tests.frontends.cli.support import DEADLINE_SECONDS, Tty, environment, limnos, script, work_folder
from tests.service.house import is_gone

SLOW = {"text": " ".join(f"w{n}" for n in range(200)), "delay": 0.1}


def place_of(folder: Path) -> Place:
    return Place(folder / "home")


def choose(folder: Path, *steps: dict[str, object]) -> None:
    """Have the home's settings name a model that follows `steps`."""
    (folder / "home").mkdir(exist_ok=True)
    (folder / "home" / "config.toml").write_text(f'model = "{script(folder, *steps)}"\n')


@contextmanager
def up(folder: Path, *steps: dict[str, object]) -> Iterator[int]:
    """A daemon of this home as a process of its own; it is gone when the test is."""
    choose(folder, *steps)
    done = limnos(folder, "up")
    assert done.returncode == 0, done.stderr
    try:
        yield holder(place_of(folder))
    finally:
        stop(read_environment(environment(folder)))
        assert holder(place_of(folder)) == 0


def eventually(reason: str, found: "object") -> None:
    """Wait, with a limit, until a function says yes."""
    assert callable(found)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not found():
        assert time.monotonic() < deadline, reason
        time.sleep(0.02)


def test_up_says_ready_and_down_ends_it_and_cleans_up(tmp_path: Path) -> None:
    with up(tmp_path, {"text": "hello"}) as pid:
        assert pid
        status = json.loads(limnos(tmp_path, "status", "--json").stdout)["daemon"]
        assert (status["pid"], status["sessions"]) == (pid, 0)
        assert f"process {pid}" in limnos(tmp_path, "status").stdout
        assert f"ready, process {pid}" in limnos(tmp_path, "logs", "-n", "1").stdout

        down = limnos(tmp_path, "down")

        assert (down.returncode, f"process {pid}" in down.stderr) == (0, True)
        assert is_gone(pid)
        assert [path.name for path in place_of(tmp_path).folder.iterdir()] == ["pid"]
    again = limnos(tmp_path, "down")
    assert (again.returncode, "no daemon" in again.stderr) == (0, True)
    assert json.loads(limnos(tmp_path, "status", "--json").stdout)["daemon"] is None
    assert limnos(tmp_path, "logs", "-n", "1").stdout.endswith("stopped\n")


def test_a_second_daemon_of_one_home_says_so(tmp_path: Path) -> None:
    with up(tmp_path, {"text": "hello"}) as pid:
        for words in (("up",), ("up", "--foreground")):
            second = limnos(tmp_path, *words)
            assert second.returncode == 2
            assert f"process {pid}" in second.stderr
            assert "limnos down" in second.stderr
        assert holder(place_of(tmp_path)) == pid


def test_one_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "run").write_text("in the way")

    failed = limnos(tmp_path, "up")

    assert failed.returncode == 1
    assert "run" in failed.stderr


def test_in_the_foreground_it_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    choose(tmp_path, {"text": "hello there"})
    tty = Tty.start(tmp_path, "up", "--foreground")
    tty.wait_for("ready, process")
    assert limnos(tmp_path, "run", "hi").stdout == "hello there\n"
    tty.signal(signal.SIGINT)
    assert tty.end() == 0
    assert "stopped" in tty.output


def test_run_sessions_export_and_the_rest_go_through_the_daemon(tmp_path: Path) -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}]}
    with up(tmp_path, {"text": "the answer"}, write, {"text": "I could not"}) as pid:
        assert limnos(tmp_path, "run", "question").stdout == "the answer\n"
        [row] = limnos(tmp_path, "sessions", "--json").stdout.splitlines()
        session = json.loads(row)["id"]
        assert limnos(tmp_path, "rename", session, "a title").returncode == 0
        assert "a title" in limnos(tmp_path, "sessions").stdout
        assert "the answer" in limnos(tmp_path, "export", session).stdout
        assert limnos(tmp_path, "fork", session).stdout.strip() != session
        assert limnos(tmp_path, "replay", session, "--verify").returncode == 0
        denied = limnos(tmp_path, "run", "write it")
        assert (denied.returncode, "stdin is not a terminal" in denied.stderr) == (4, True)
        assert json.loads(limnos(tmp_path, "status", "--json").stdout)["daemon"]["pid"] == pid
    assert not (work_folder(tmp_path) / "a.txt").exists()


def test_flags_and_variables_of_the_client_count_for_its_own_run(tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    model = script(other, {"text": "another model"})
    with up(tmp_path, {"text": "the model of the daemon"}):
        assert limnos(tmp_path, "run", "a", LIMNOS_MODEL=model).stdout == "another model\n"
        assert limnos(tmp_path, "run", "--model", model, "a").returncode in (0, 1)
        assert limnos(tmp_path, "run", "a").stdout == "the model of the daemon\n"
        wrong = limnos(tmp_path, "run", "--steps", "0", "a")
        assert (wrong.returncode, "--steps" in wrong.stderr) == (2, True)


def test_a_person_answers_a_question_of_the_daemon_in_the_terminal(tmp_path: Path) -> None:
    write = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "x"}}]}
    with up(tmp_path, write, {"text": "written"}):
        tty = Tty.start(tmp_path, "run", "write it")
        tty.wait_for("y once")
        tty.let_question_be_read()
        tty.send("y\r")
        tty.wait_for("written")
        assert tty.end() == 0
    assert (work_folder(tmp_path) / "a.txt").read_text() == "x"


def test_a_chat_leaves_its_turn_to_the_daemon_and_comes_back_to_it(tmp_path: Path) -> None:
    words = {"text": " ".join(f"w{n}" for n in range(60)), "delay": 0.05}
    with up(tmp_path, words):
        chat = Tty.start(tmp_path)
        chat.wait_for("ask  script.json")
        chat.send("go\r")
        chat.wait_for("w2")
        chat.send("\x04")
        assert chat.end() == 0
        [row] = limnos(tmp_path, "sessions", "--json").stdout.splitlines()
        assert json.loads(row)["state"] == "working"
        again = Tty.start(tmp_path, "open", json.loads(row)["id"])
        again.wait_for("w59")
        again.send("\x04")
        assert again.end() == 0


def test_a_daemon_that_was_killed_leaves_nothing_in_the_way_and_its_turn_can_be_continued(
    tmp_path: Path,
) -> None:
    with up(tmp_path, SLOW) as pid:
        client = subprocess.Popen(
            [sys.executable, "-m", "limnos", "run", "go"],
            env=environment(tmp_path),
            cwd=work_folder(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        sessions = tmp_path / "home" / "personas" / "default" / "sessions"
        eventually(
            "the turn did not begin",
            lambda: any('"turn_started"' in path.read_text() for path in sessions.rglob("*.jsonl")),
        )
        os.kill(pid, signal.SIGKILL)
        assert is_gone(pid)
        listed = json.loads(limnos(tmp_path, "sessions", "--json").stdout)
        assert listed["state"] == "interrupted"
        choose(tmp_path, {"text": "and on"})
        restarted = limnos(tmp_path, "up")
        assert restarted.returncode == 0, restarted.stderr
        _, said = client.communicate(timeout=DEADLINE_SECONDS)
        assert client.returncode == 1
        assert f"limnos run --continue {listed['id']}" in said
        assert limnos(tmp_path, "run", "--continue", listed["id"]).stdout == "and on\n"
        events = read_history(Path(listed["path"])).events
        assert [event.type for event in events if event.type.startswith("turn_")] == [
            "turn_started",
            "turn_resumed",
            "turn_finished",
        ]


def test_a_client_of_a_daemon_that_is_gone_says_so_within_its_limit(tmp_path: Path) -> None:
    with up(tmp_path, SLOW) as pid:
        tty = Tty.start(tmp_path, "run", "go")
        tty.wait_for("working")
        os.kill(pid, signal.SIGKILL)
        tty.wait_for("the daemon does not answer")
        assert tty.end() == 1


def test_a_socket_that_was_left_behind_hinders_nobody(tmp_path: Path) -> None:
    with up(tmp_path, {"text": "hello"}) as pid:
        os.kill(pid, signal.SIGKILL)
        assert is_gone(pid)
        assert place_of(tmp_path).socket.exists()
        alone = limnos(tmp_path, "run", "hi", LIMNOS_MODEL=script(tmp_path, {"text": "in this process"}))
        assert alone.stdout == "in this process\n"


def test_logs_follow_what_comes(tmp_path: Path) -> None:
    with up(tmp_path, {"text": "hello"}):
        tty = Tty.start(tmp_path, "logs", "--follow")
        tty.wait_for("ready, process")
        assert limnos(tmp_path, "down").returncode == 0
        tty.wait_for("stopped")
        tty.signal(signal.SIGINT)
        assert tty.end() == 130


@pytest.mark.parametrize("words", [("logs", "-n", "-1"), ("up", "now"), ("down", "--hard")])
def test_words_that_make_no_sense_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert limnos(tmp_path, *words).returncode == 2
