"""Outside text is shown, never obeyed."""

import base64
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.frontends.cli.approvals import question_lines
from limnos.frontends.cli.escapes import command_text, hosts_in_ascii, one_line, visible
from limnos.kernel.events import ApprovalAsked
from tests.frontends.cli.support import SHARED, laid_out, look, text

CASES = [
    json.loads(row) for row in (SHARED / "cases" / "terminal.jsonl").read_text(encoding="utf-8").splitlines()
]
# Format characters that have a shape of their own: signs of numbers, of a year, of a verse.
VISIBLE_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
)


def _shown(case: dict[str, object]) -> str:
    outside = base64.b64decode(str(case["bytes_b64"])).decode("utf-8", "surrogateescape")
    match case["context"]:
        case "terminal":
            return "\n".join(text(laid_out(outside, 1_000_000)))
        case "approval":
            asked = ApprovalAsked(
                approval="k7f2", call="c1", tool="run_command", arguments={"command": outside}, hash="",
                reasons=["it can change anything"], cwd="/home/u",
            )  # fmt: skip
            return "\n".join(text(question_lines(look(1_000_000), asked)))
        case "card":
            return command_text(outside)
        case _:
            return one_line(outside)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_each_known_trick_is_shown_as_what_it_is(case: dict[str, dict[str, list[object]]]) -> None:
    shown = _shown(case)
    for wanted in case["expect"]["visible_contains"]:
        choices = wanted if isinstance(wanted, list) else [wanted]
        assert any(str(choice).casefold() in shown.casefold() for choice in choices)
    for lacking in case["expect"]["lacks_b64"]:
        assert base64.b64decode(str(lacking)) not in shown.encode("utf-8")


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
    if "blanks]" not in shown and "empty lines]" not in shown:
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
