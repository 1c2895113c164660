"""A result is told with what the embedded model could not work out of it."""

import pytest

from limnos.providers.embedded_results import cut, result_of

ROOM = 1000


def told(text: str, request: str, tool: str = "read_file") -> str:
    return result_of(tool, text, request, ROOM)


@pytest.mark.parametrize(
    "request_",
    [
        "what is the second line of a.txt", "the last 2 lines of a.txt", "Show line 2", "lines 2 to 3 please",
        "the 3rd line?", "a.txt 第二行是什么", "a.txt 最后两行", "最后一行",
    ],
)  # fmt: skip
def test_lines_are_numbered_for_who_asks_for_some(request_: str) -> None:
    assert told("one\ntwo\n", request_) == "Result of read_file:\n1: one\n2: two"


@pytest.mark.parametrize(
    "request_",
    ["delete the line about milk", "with the single line # June", "a.txt 里那行删掉", "read a.txt"],
)
def test_other_requests_see_the_text_as_it_is(request_: str) -> None:
    assert told("one\ntwo\n", request_) == "Result of read_file:\none\ntwo\n"


def test_a_part_of_a_file_keeps_its_line_numbers() -> None:
    assert told("[lines 4 to 5 of 9]\nd\ne\n", "line 4 and the next").endswith("of 9]\n4: d\n5: e")


def test_what_a_table_adds_up_to_is_said_after_it() -> None:
    table = "name,score\nAnn,3\nBen,5\n"

    assert told(table, "who won?") == (
        f"Result of read_file:\n{table}\n(2 rows; score: lowest 3 (Ann), highest 5 (Ben), sum 8, average 4)"
    )
    assert "rows" not in told(table, "who won?", tool="run_command")


def test_a_table_too_long_to_be_shown_is_added_up_whole() -> None:
    table = "name,score\n" + "".join(f"n{number},{number}\n" for number in range(1500))

    said = told(table, "who won?")

    assert "characters left out" in said
    assert said.endswith(
        "(1500 rows; score: lowest 0 (n0), highest 1499 (n1499), sum 1124250, average 749.5)"
    )


@pytest.mark.parametrize("size", [0, 1, 299, 300, 301, 5000])
def test_a_cut_keeps_head_and_tail_and_says_what_is_missing(size: int) -> None:
    text = "".join(chr(0x4E00 + n % 2000) for n in range(size))
    short = cut(text, 300)
    if size <= 300:
        assert short == text
    else:
        assert short.startswith(text[:200])
        assert short.endswith(text[-100:])
        assert f"{size - 300} characters left out" in short
