"""`limnos plugins`: a person sees what a plugin may do before it is there, and why one does not start."""

import json
import os
from pathlib import Path

import pytest

from tests.frontends.cli.support import Tty, limnos, work_folder
from tests.plugins.making import GREET, plugin

PASSES = """\
import unittest
class T(unittest.TestCase):
    def test_it(self): self.assertEqual(1, {number})
"""


def states(folder: Path) -> dict[str, str]:
    """The state of each plugin that somebody installed, as programs read it."""
    rows = limnos(folder, "plugins", "list", "--json").stdout.splitlines()
    return {one["name"]: one["state"] for one in map(json.loads, rows) if not one["builtin"]}


def installed(folder: Path, name: str, *lines: str, tools: str = GREET) -> Path:
    """Install a plugin; where it lies."""
    plugin(work_folder(folder), name, *lines, tools=tools)
    assert limnos(folder, "plugins", "install", name, "--yes").returncode == 0
    return folder / "home" / "plugins" / name


def test_a_plugin_is_shown_with_what_it_may_do_before_a_person_says_yes(tmp_path: Path) -> None:
    plugin(work_folder(tmp_path), "a", 'capabilities = ["network:raw", "files:/srv/maps:rw"]', tools=GREET)

    asked = Tty.start(tmp_path, "plugins", "install", "a")
    asked.wait_for("a 1.0: Does a things.")
    asked.wait_for("runs   python:a")
    asked.wait_for("open connections of its own (network:raw)")
    asked.wait_for("read and change files in the folder /srv/maps")
    asked.wait_for("tool   a_greet: Greet somebody. (reaches outside, asks first)")
    asked.wait_for("install it? [y/N]")
    asked.send("\n")
    asked.wait_for("nothing was installed")
    assert asked.end() == 4
    assert states(tmp_path) == {}

    asked = Tty.start(tmp_path, "plugins", "install", "a")
    asked.wait_for("install it? [y/N]")
    asked.send("y\n")
    asked.wait_for("installed a 1.0")
    assert asked.end() == 0
    assert states(tmp_path) == {"a": "ready"}


def test_without_a_person_nothing_is_installed_accepted_or_removed(tmp_path: Path) -> None:
    plugin(work_folder(tmp_path), "a")
    done = limnos(tmp_path, "plugins", "install", "a")
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1] == "fix: limnos plugins install a --yes"
    assert states(tmp_path) == {}

    place = tmp_path / "home" / "plugins" / "a"
    assert limnos(tmp_path, "plugins", "install", "a", "--yes").returncode == 0
    assert limnos(tmp_path, "plugins", "remove", "a").returncode == 4
    (place / "a.py").write_text("changed")
    assert limnos(tmp_path, "plugins", "lock").returncode == 4
    assert states(tmp_path) == {"a": "down"}


@pytest.mark.parametrize(
    "words",
    [
        ["install", "a", "--yes"],
        ["remove", "a", "--yes"],
        ["lock", "--yes"],
        ["enable", "a"],
        ["disable", "a"],
    ],
)
def test_a_command_of_the_agent_changes_no_plugin(tmp_path: Path, words: list[str]) -> None:
    plugin(work_folder(tmp_path), "a")

    done = limnos(tmp_path, "plugins", *words, LIMNOS_COMMAND="1")

    assert done.returncode == 4
    assert "for a person" in done.stderr
    assert not (tmp_path / "home" / "plugins").exists()


def test_a_changed_plugin_is_down_and_lock_shows_what_changed(tmp_path: Path) -> None:
    place = installed(tmp_path, "a")
    (place / "a.py").write_text("changed")
    (place / "new.py").write_text("")
    text = (place / "plugin.toml").read_text().replace("protocol = 1", 'protocol = 1\ncapabilities = ["llm"]')
    (place / "plugin.toml").write_text(text)

    assert states(tmp_path) == {"a": "down"}
    shown = limnos(tmp_path, "plugins", "lock", "--check")
    assert shown.returncode == 1
    assert shown.stderr.splitlines() == [
        "a: changed",
        "  added    new.py",
        "  changed  a.py",
        "  changed  plugin.toml",
        "  may    ask the model (llm) (new)",
    ]
    records = limnos(tmp_path, "plugins", "lock", "--check", "--json").stdout.splitlines()
    assert json.loads(records[0]) == {
        "name": "a",
        "change": "changed",
        "files": {"added": ["new.py"], "changed": ["a.py", "plugin.toml"], "removed": []},
        "capabilities_added": ["llm"],
    }
    assert states(tmp_path) == {"a": "down"}

    asked = Tty.start(tmp_path, "plugins", "lock")
    asked.wait_for("accept that? [y/N]")
    asked.send("y\n")
    asked.wait_for("locked")
    assert asked.end() == 0
    assert states(tmp_path) == {"a": "ready"}
    assert limnos(tmp_path, "plugins", "lock", "--check").returncode == 0


def test_every_fault_has_a_line_of_its_own(tmp_path: Path) -> None:
    plugin(work_folder(tmp_path), "a", "colour = 1", 'start = "often"')

    done = limnos(tmp_path, "plugins", "install", "a", "--yes")

    rows = done.stderr.splitlines()
    assert done.returncode == 1
    assert "line 6: colour is no field" in rows[0]
    assert "line 7: start is 'often'" in rows[1]
    assert rows[2] == "error: 2 things are wrong"
    assert rows[3].startswith("fix: mend")


def test_a_disabled_plugin_stays_in_the_list_and_is_enabled_again(tmp_path: Path) -> None:
    installed(tmp_path, "a", 'provides = ["f"]')
    installed(tmp_path, "b", 'needs = ["f"]')

    done = limnos(tmp_path, "plugins", "disable", "a")

    assert "a is disabled" in done.stderr
    assert "b is down: b needs f, which no plugin provides" in done.stderr
    assert states(tmp_path) == {"a": "disabled", "b": "down"}
    assert limnos(tmp_path, "plugins", "enable", "a").returncode == 0
    assert states(tmp_path) == {"a": "ready", "b": "ready"}


def test_a_removed_plugin_is_gone(tmp_path: Path) -> None:
    place = installed(tmp_path, "a")

    asked = Tty.start(tmp_path, "plugins", "remove", "a")
    asked.wait_for("delete a, its data and its settings? [y/N]")
    asked.send("y\n")
    assert asked.end() == 0

    assert not place.exists()
    done = limnos(tmp_path, "plugins", "remove", "a", "--yes")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "fix: limnos plugins list")


def test_one_of_two_providers_is_preferred_by_a_person(tmp_path: Path) -> None:
    installed(tmp_path, "a", 'provides = ["f"]')
    two = plugin(work_folder(tmp_path), "b", 'provides = ["f"]')
    done = limnos(tmp_path, "plugins", "install", "b", "--yes")
    assert "limnos plugins lock --prefer f=a" in done.stderr
    two.rename(tmp_path / "home" / "plugins" / "b")

    assert limnos(tmp_path, "plugins", "lock", "--yes").returncode == 1
    assert limnos(tmp_path, "plugins", "lock", "--yes", "--prefer", "f").returncode == 2
    assert limnos(tmp_path, "plugins", "lock", "--yes", "--prefer", "f=b").returncode == 0
    wrong = limnos(tmp_path, "plugins", "lock", "--yes", "--prefer", "g=b")
    assert (wrong.returncode, wrong.stderr.splitlines()[0]) == (2, "error: b does not provide g")
    assert states(tmp_path) == {"a": "ready", "b": "ready"}
    assert limnos(tmp_path, "plugins", "lock", "--yes").returncode == 0


def test_the_graph_is_printed_and_drawn(tmp_path: Path) -> None:
    installed(tmp_path, "a", 'provides = ["f"]')
    installed(tmp_path, "b", 'needs = ["f"]', 'start = "eager"')

    assert limnos(tmp_path, "plugins", "graph").stdout.splitlines()[-1] == "a start waits for a, b: 2"
    assert json.loads(limnos(tmp_path, "plugins", "graph", "--json").stdout)["path"] == ["a", "b"]
    assert limnos(tmp_path, "plugins", "graph", "--svg", "g.svg").returncode == 0
    assert (work_folder(tmp_path) / "g.svg").read_text().startswith("<svg")


def test_a_new_plugin_is_written_and_can_be_installed(tmp_path: Path) -> None:
    done = limnos(tmp_path, "plugins", "new", "weather", "--folder", "mine")

    assert "limnos plugins test mine/weather" in done.stderr
    assert limnos(tmp_path, "plugins", "install", "mine/weather", "--yes").returncode == 0
    assert states(tmp_path) == {"weather": "ready"}


@pytest.mark.parametrize(("number", "exit_code"), [(1, 0), (2, 1)])
def test_the_tests_of_a_plugin_run_and_leave_nothing(tmp_path: Path, number: int, exit_code: int) -> None:
    place = plugin(work_folder(tmp_path), "a")
    (place / "test_a.py").write_text(PASSES.format(number=number))
    before = sorted(os.listdir(place))

    done = limnos(tmp_path, "plugins", "test", "a")

    assert done.returncode == exit_code, done.stdout + done.stderr
    assert ("1 passed" if number == 1 else "1 failed") in done.stdout
    assert sorted(os.listdir(place)) == before


def test_tests_without_end_are_ended(tmp_path: Path) -> None:
    place = plugin(work_folder(tmp_path), "a")
    (place / "test_a.py").write_text("import signal\nsignal.pause()\n")

    done = limnos(tmp_path, "plugins", "test", "a", "--seconds", "1")

    assert done.returncode == 3
    assert "more than 1 s" in done.stderr


@pytest.mark.parametrize("words", [["restart", "a"], ["stop", "a"]])
def test_what_takes_a_running_limnos_says_that_there_is_none(tmp_path: Path, words: list[str]) -> None:
    installed(tmp_path, "a")

    done = limnos(tmp_path, "plugins", *words)

    assert done.returncode == 1
    assert "no limnos is running" in done.stderr
    assert limnos(tmp_path, "plugins", words[0], "gone").returncode == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["test", "nowhere"], "no folder of a plugin"), (["test", ".", "--seconds", "0"], "at least 1"),
        (["logs", "a", "--lines", "0"], "at least 1"), (["new", "A"], "no name"),
        (["disable", "gone"], "no plugin"), (["install", "gone", "--yes"], "not there"),
        (["lst"], "no command"),
    ],
)  # fmt: skip
def test_a_wrong_word_is_said_with_its_fix(tmp_path: Path, words: list[str], says: str) -> None:
    done = limnos(tmp_path, "plugins", *words)

    assert done.returncode == 2
    assert says in done.stderr.splitlines()[0]
    assert done.stderr.splitlines()[1].startswith("fix: limnos plugins")


def test_a_list_for_people_says_why_a_plugin_does_not_start(tmp_path: Path) -> None:
    installed(tmp_path, "a")
    plugin(tmp_path / "home" / "plugins", "b")

    shown = Tty.start(tmp_path, "plugins", "list", columns=120)
    shown.wait_for("name ")
    shown.wait_for("a ")
    shown.wait_for("broken")
    shown.wait_for("b: it was not accepted yet: limnos plugins lock")
    assert shown.end() == 0


def test_the_doctor_names_a_plugin_that_is_down(tmp_path: Path) -> None:
    place = installed(tmp_path, "a")
    assert "plugins\tdone\t" in limnos(tmp_path, "doctor").stdout
    (place / "a.py").write_text("changed")

    assert "plugins\task\ta: down, of " in limnos(tmp_path, "doctor").stdout


def test_names_and_texts_of_a_plugin_send_nothing_to_the_terminal(tmp_path: Path) -> None:
    place = installed(tmp_path, "a")
    (place / "\x1b[31mred").write_text("")
    (place / "a.py").write_text("changed")

    done = limnos(tmp_path, "plugins", "lock", "--check")

    assert "\x1b" not in done.stderr + done.stdout
    assert "added" in done.stderr
