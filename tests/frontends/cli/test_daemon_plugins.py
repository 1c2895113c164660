"""Plugins of a running daemon, from the command line: seen, killed, stopped, restarted."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.frontends.cli.support import limnos
from tests.frontends.cli.test_daemon import eventually, up

LOOK = {"text": "", "calls": [{"name": "list_dir", "arguments": {}}]}


def files_plugin(folder: Path) -> dict[str, Any]:
    """What the list says of the plugin `files`."""
    rows = map(json.loads, limnos(folder, "plugins", "list", "--json").stdout.splitlines())
    return next(row for row in rows if row["name"] == "files")


def test_a_plugin_starts_at_its_first_use_and_is_seen(tmp_path: Path) -> None:
    with up(tmp_path, LOOK, {"text": "done"}):
        before = files_plugin(tmp_path)
        assert (before["state"], before["pid"], before["starts"]) == ("ready", 0, 0)

        assert limnos(tmp_path, "run", "look").returncode == 0

        after = files_plugin(tmp_path)
        assert (after["state"], after["starts"]) == ("running", 1)
        os.kill(after["pid"], 0)
    assert (files_plugin(tmp_path)["state"], files_plugin(tmp_path)["pid"]) == ("ready", 0)


def test_a_killed_plugin_is_started_again_and_its_log_tells(tmp_path: Path) -> None:
    with up(tmp_path, LOOK, {"text": "done"}):
        assert limnos(tmp_path, "plugins", "restart", "files").returncode == 0
        first = files_plugin(tmp_path)

        os.kill(first["pid"], signal.SIGKILL)

        eventually("it is not started again", lambda: files_plugin(tmp_path)["starts"] == 2)
        assert limnos(tmp_path, "run", "look").returncode == 0
    told = limnos(tmp_path, "plugins", "logs", "files").stdout
    assert "limnos: down: " in told
    assert "limnos: running (generation 2)" in told


def test_a_plugin_that_a_person_stopped_stays_so_until_a_person_restarts_it(tmp_path: Path) -> None:
    with up(tmp_path, LOOK, {"text": "done"}, LOOK, {"text": "done"}):
        assert limnos(tmp_path, "plugins", "restart", "files").returncode == 0
        stopped = limnos(tmp_path, "plugins", "stop", "files")
        assert (stopped.returncode, "files is stopped" in stopped.stderr) == (0, True)
        assert files_plugin(tmp_path)["state"] == "stopped"

        told = limnos(tmp_path, "run", "look", "--json").stdout
        assert "the plugin files is stopped" in told

        assert limnos(tmp_path, "plugins", "restart", "files").returncode == 0
        assert files_plugin(tmp_path)["state"] == "running"
    assert limnos(tmp_path, "plugins", "restart", "files").returncode == 1


def test_the_start_graph_has_the_times_of_the_running_daemon(tmp_path: Path) -> None:
    with up(tmp_path, LOOK, {"text": "done"}):
        assert limnos(tmp_path, "plugins", "restart", "files").returncode == 0

        graph = limnos(tmp_path, "plugins", "graph").stdout

    assert " ms" in graph


def test_what_is_installed_disabled_and_removed_counts_in_the_running_daemon(tmp_path: Path) -> None:
    greet = {"text": "", "calls": [{"name": "hello_greet", "arguments": {"name": "Ada"}}]}
    steps = [step for _ in range(4) for step in (greet, {"text": "done"})]
    with up(tmp_path, *steps):
        assert limnos(tmp_path, "plugins", "new", "hello").returncode == 0
        assert limnos(tmp_path, "plugins", "install", "hello", "--yes").returncode == 0
        assert "Hello, Ada" in limnos(tmp_path, "run", "greet", "--mode", "yolo", "--json").stdout

        assert limnos(tmp_path, "plugins", "disable", "hello").returncode == 0
        assert "there is no tool 'hello_greet'" in limnos(tmp_path, "run", "greet", "--json").stdout

        assert limnos(tmp_path, "plugins", "enable", "hello").returncode == 0
        assert "Hello, Ada" in limnos(tmp_path, "run", "greet", "--mode", "yolo", "--json").stdout

        assert limnos(tmp_path, "plugins", "remove", "hello", "--yes").returncode == 0
        assert "there is no tool 'hello_greet'" in limnos(tmp_path, "run", "greet", "--json").stdout
