"""`limnos memory`, `limnos context` and what the chat says of the layers, with the real program."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.cli.support import Tty, limnos, work_folder

WINDOW = 5_000
PARTS = 14


def long_work(folder: Path, *last: dict[str, Any]) -> str:
    """A model with a small window that reads many files; each says a code that stands nowhere else."""
    for number in range(PARTS):
        filler = " ".join(f"word{number}x{place}" for place in range(100))
        (work_folder(folder) / f"part{number}.txt").write_text(f"the code is QX-{7000 + number}\n{filler}\n")
    reads = [
        {"text": "", "calls": [{"name": "read_file", "arguments": {"path": f"part{number}.txt"}}]}
        for number in range(PARTS)
    ]
    path = folder / "long.json"
    steps = [*reads, {"text": "All are read."}, *last]
    path.write_text(json.dumps({"steps": steps, "context_tokens": WINDOW}))
    return f"scripted:{path}"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one session in which steps have sunk."""
    folder = tmp_path_factory.mktemp("memory")
    done = limnos(folder, "run", "read all parts", LIMNOS_MODEL=long_work(folder), LIMNOS_STEPS="40")
    assert done.returncode == 0, done.stderr
    return folder


def session_of(folder: Path) -> str:
    """The one session."""
    return limnos(folder, "sessions").stdout.split("\t")[0]


def records(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """What a command prints for programs."""
    done = limnos(folder, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return [json.loads(row) for row in done.stdout.splitlines()]


def test_a_search_finds_what_sank_and_says_why_it_came(house: Path) -> None:
    done = limnos(house, "memory", "search", "QX-7001")
    assert done.returncode == 0
    assert "QX-7001" in done.stdout
    assert "[exact]" in done.stdout
    assert f"next: limnos memory show {session_of(house)}#" in done.stderr


def test_what_stands_nowhere_is_told_as_no_record(house: Path) -> None:
    done = limnos(house, "memory", "search", "QX-9999")
    assert "no record of qx-9999" in done.stderr.lower()


def test_the_units_of_a_session_are_listed_with_their_layer_and_one_is_shown_whole(house: Path) -> None:
    units = records(house, "memory", "show", session_of(house))
    assert {"window", "cold"} <= {unit["holder"] for unit in units}
    sunk = next(unit for unit in units if unit["holder"] == "cold" and unit["kind"] == "step")
    shown = limnos(house, "memory", "show", f"{session_of(house)}{sunk['unit']}")
    assert "QX-70" in shown.stdout
    assert "untrusted" in shown.stdout


def test_explain_says_for_each_unit_why_it_stayed_or_sank(house: Path) -> None:
    done = limnos(house, "memory", "explain", session_of(house))
    assert re.search(r"#\d+ pruned to [\d,]+ of [\d,]+ tokens, \d+ sank", done.stdout)
    assert "sank: older, and less relevant" in done.stdout
    assert "stays: what the turn is about" in done.stdout
    assert "stays: among the newest" in done.stdout
    accounts = records(house, "memory", "explain", session_of(house), "--turn", "1")
    sunk = [fate for account in accounts for fate in account["fates"] if fate["fate"] == "sunk"]
    assert sunk
    assert all(fate["tokens"] > 0 for fate in sunk)


def test_explain_of_a_turn_that_is_not_there_names_how_many_there_are(house: Path) -> None:
    done = limnos(house, "memory", "explain", session_of(house), "--turn", "9")
    assert done.returncode == 2
    assert "no turn 9; it has 1" in done.stderr


def test_verify_confirms_and_finds_what_somebody_changed(house: Path) -> None:
    assert limnos(house, "memory", "verify").returncode == 0
    assert limnos(house, "memory", "rebuild").returncode == 0
    assert limnos(house, "memory", "verify").returncode == 0
    assert limnos(house, "memory", "gc").returncode == 0


def test_context_shows_the_window_by_category_and_by_unit(house: Path) -> None:
    done = limnos(house, "context", session_of(house))
    assert "ledger" in done.stdout
    assert "under the waterline" in done.stdout
    record = records(house, "context", session_of(house))[0]
    assert record["cold"] > 0
    assert sum(part["tokens"] for part in record["parts"]) <= record["budget"]
    assert {"id", "turn", "kind", "tokens", "state", "about"} == set(record["units"][0])


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("memory", "show", "nothing"), "nothing is remembered of a session"),
        (("memory", "show", "s00000#4"), "nothing is remembered as"),
        (("memory", "search", "x", "--limit", "0"), "--limit is 0"),
        (("memory", "explain", "s00000"), "there is no session"),
        (("context", "s00000"), "there is no session"),
    ],
)
def test_a_wrong_name_is_a_usage_error_with_a_fix(house: Path, arguments: tuple[str, ...], what: str) -> None:
    done = limnos(house, *arguments)
    assert done.returncode == 2
    assert what in done.stderr
    assert "fix:" in done.stderr


def test_the_chat_shows_pins_and_recalls(tmp_path: Path) -> None:
    model = long_work(tmp_path, {"text": "Yes."})
    chat = Tty.start(tmp_path, LIMNOS_MODEL=model, LIMNOS_STEPS="40")
    chat.wait_for("›")
    chat.send("read all parts\r")
    chat.wait_for("left this window")
    chat.wait_for("All are read.")
    chat.send("/context\r")
    chat.wait_for("under the waterline")
    chat.send("/recall QX-7001\r")
    chat.wait_for("[exact]")
    number = chat.wait_for("next: /recall ") and re.search(r"next: /recall (\d+)", chat.output)
    assert number is not None
    chat.send(f"/recall {number[1]}\r")
    chat.wait_for(f"step {number[1]} is back in the window")
    chat.send(f"/pin {number[1]}\r")
    chat.wait_for(f"step {number[1]} stays in the window")
    chat.send(f"/unpin {number[1]}\r")
    chat.wait_for("may sink again")
    chat.send("/pin 99999\r")
    chat.wait_for("step 99999 is not in the window")
    chat.send("\x15\x04")
    assert chat.end() == 0
