"""Outside text is shown, never obeyed."""

import base64
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.escapes import command_text, one_line, visible
from limnos.frontends.cli.hosts import hosts_in_ascii
from limnos.testing.cases import KINDS, read_cases
from tests.frontends.cli.support import SHARED

FILES = (SHARED / "cases" / "terminal.jsonl", Path(__file__).parents[2] / "cases" / "terminal.jsonl")
CASES = [case for path in FILES for case in read_cases(path)]
# Format characters that have a shape of their own: signs of numbers, of a year, of a verse.
VISIBLE_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_known_trick_is_shown_as_what_it_is(case: dict[str, Any]) -> None:
    assert KINDS["terminal"](case) is None


def test_the_ids_of_all_tricks_differ_and_shown_as_they_are_they_would_get_through() -> None:
    harmful = [case for case in CASES if "plain" not in case["id"] and case["expect"]["lacks_b64"]]
    raw = [base64.b64decode(case["bytes_b64"]) for case in harmful]
    lacking = [map(base64.b64decode, case["expect"]["lacks_b64"]) for case in harmful]

    assert len({case["id"] for case in CASES}) == len(CASES)
    through = sum(any(one in data for one in ones) for data, ones in zip(raw, lacking, strict=True))
    assert through >= len(harmful) - 1  # an overlong form is one of a lenient decoder only


@given(st.text())
def test_nothing_that_a_terminal_obeys_or_hides_gets_through(outside: str) -> None:
    for character in set(visible(outside)) - set("\n\t\u200c\u200d"):
        kind = unicodedata.category(character)
        assert kind not in ("Cc", "Cs", "Co", "Zl", "Zp")
        assert kind != "Cf" or character in VISIBLE_FORMATS


@given(st.text())
def test_a_name_or_a_log_record_stays_one_line(outside: str) -> None:
    assert len(one_line(outside).splitlines()) <= 1


@given(st.binary())
def test_bytes_that_are_no_text_can_be_shown(data: bytes) -> None:
    visible(data.decode("utf-8", "surrogateescape")).encode("utf-8")


@given(st.text(alphabet="abc;|& \n$()<>-/", max_size=400))
def test_a_command_is_shown_whole_unless_a_word_or_a_run_of_blanks_is_very_long(command: str) -> None:
    shown = command_text(command)
    if not any(note in shown for note in ("blanks]", "lines]", "hidden]", "more]")):
        assert shown == command


def test_emoji_and_scripts_with_joiners_stay_whole() -> None:
    for plain in ("👩‍👩‍👧", "می‌خواهم", "क्‍ष", "❤️", "🇨🇳"):
        assert visible(plain) == plain


def test_look_alike_hosts_are_named_in_ascii_and_paths_are_left_alone() -> None:
    assert hosts_in_ascii("https://аpple.example/отчёт.txt") == "https://xn--pple-43d.example/отчёт.txt"
    assert hosts_in_ascii("git@аpple.example:x") == "git@xn--pple-43d.example:x"
    assert hosts_in_ascii("cat отчёт.txt") == "cat отчёт.txt"


@pytest.mark.parametrize("hidden", ["../HIDDEN", "--checkpoint-action=exec=x", "~/.ssh/id_rsa", "'q'", "*"])
def test_an_operand_inside_a_long_word_is_never_left_out(hidden: str) -> None:
    command = "touch ./{" + "a" * 125 + "," + hidden + "," + "b" * 120 + "}"

    assert hidden in command_text(command)


@pytest.mark.parametrize(
    "unit",
    ["a", "é.", "://é@", "я", "./", "ab12cd34ef56gh78", " \r", "\u0301", "x=", "\n \t", "line 1\nline 2\n"],
)
def test_no_command_takes_time_out_of_proportion(unit: str) -> None:
    def seconds(size: int) -> float:
        command = unit * (size // len(unit))
        began = time.perf_counter()
        command_text(command)
        return time.perf_counter() - began

    small = min(seconds(10_000) for _ in range(3))
    assert seconds(80_000) < max(0.02, small) * 8 * 4


def test_what_is_repeated_is_shown_once_with_both_ends() -> None:
    shown = command_text("echo ok; " + ":; " * 500 + "rm -rf x")

    assert shown.startswith("echo ok; :; :; ")
    assert shown.endswith(":; rm -rf x")
    assert "characters of the same hidden]" in shown
    assert len(shown) < 300
