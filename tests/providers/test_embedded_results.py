"""A result is told with what the embedded model could not work out of it."""

import pytest

from limnos.providers.embedded_results import cut, result_of

ROOM = 1000
LINES = "one\ntwo\nthree\n"


def told(text: str, request: str, tool: str = "read_file", *, chinese: bool = False) -> str:
    return result_of(tool, text, request, ROOM, chinese=chinese)


@pytest.mark.parametrize(
    ("request_", "numbers"),
    [
        ("what is the second line of a.txt", [2]), ("Show line 3", [3]), ("the 3rd line?", [3]),
        ("the very last line of a.txt", [3]), ("the last 2 lines", [2, 3]), ("last two lines", [2, 3]),
        ("the last 9 lines", [1, 2, 3]), ("the Tenth line", []), ("line 0", []), ("line 4", []),
    ],
)  # fmt: skip
def test_a_line_that_is_asked_for_by_its_number_follows(request_: str, numbers: list[int]) -> None:
    lines = LINES.split("\n")
    facts = "".join(f"\n(line {number}: {lines[number - 1]})" for number in numbers)

    assert told(LINES, request_) == f"Result of read_file:\n{LINES.rstrip() if facts else LINES}{facts}"


@pytest.mark.parametrize(
    ("request_", "numbers"),
    [
        ("a.txt 第二行是什么", [2]),
        ("第3行", [3]),
        ("最后一行", [3]),
        ("最后两行写了啥", [2, 3]),
        ("倒数2行", [2, 3]),
    ],
)
def test_lines_are_asked_for_in_chinese_too(request_: str, numbers: list[int]) -> None:
    said = told(LINES, request_, chinese=True)

    assert [number for number in (1, 2, 3) if f"(第 {number} 行：" in said] == numbers


@pytest.mark.parametrize(
    "request_",
    ["delete the line about milk", "with the single line # June", "a.txt 里那行删掉", "read a.txt"],
)
def test_other_requests_see_the_text_as_it_is(request_: str) -> None:
    assert told(LINES, request_) == f"Result of read_file:\n{LINES}"


def test_a_part_of_a_file_and_other_results_have_no_facts() -> None:
    part = "[lines 2 to 3 of 3]\ntwo\nthree\n"

    assert told(part, "the last line") == f"Result of read_file:\n{part}"
    assert told(LINES, "the last line", tool="run_command") == f"Result of run_command:\n{LINES}"


def test_what_a_table_adds_up_to_follows_it_in_the_language_of_the_request() -> None:
    table = "name,score\nAnn,3\nBen,5"
    facts = "(highest score: Ben (5); lowest score: Ann (3); all score together: 8)"

    assert told(f"{table}\n", "who won?") == f"Result of read_file:\n{table}\n{facts}"
    assert told(table, "谁赢了？", chinese=True).endswith(
        "\n(score最高：Ben（5）；score最低：Ann（3）；score合计：8)"
    )


def test_a_table_too_long_to_be_shown_is_added_up_whole() -> None:
    table = "name,score\n" + "".join(f"n,{number}\n" for number in range(1500))

    said = told(table, "who won?")

    assert "characters left out" in said
    assert said.endswith("all score together: 1124250)")


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
