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
        ("line 3 and line 2", [3, 2]), ("twenty-first line", []), ("line 1,200", []), ("last 2nd line", []),
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


@pytest.mark.parametrize(
    "text",
    [
        "[lines 2 to 3 of 3]\ntwo\nthree\n",
        "one\n[... 5 of 99 characters left out here; block_read pages through the whole ...]\ntwo",
        "one\n[... 5 characters left out ...]\ntwo",
        "a.txt is empty: it has no lines.",
    ],
)
def test_what_is_not_the_whole_file_has_no_facts(text: str) -> None:
    assert told(text, "the last line") == f"Result of read_file:\n{text}"


def test_errors_and_other_results_have_no_facts() -> None:
    said = result_of("read_file", "error\nwhat to do", "the last line", ROOM, chinese=False, whole=False)

    assert said == "Result of read_file:\nerror\nwhat to do"
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


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("line\n" * 500, "the last 99 lines"),
        ("x" * 5000 + "\nlast\n", "line 1"),
        ("\n".join(",".join(f"c{column}{row % 2}" for column in range(60)) for row in range(20)), "sum?"),
        ("a,b\n" + "y" * 3000 + ",5\n" + "z" * 3000 + ",7\n", "most?"),
    ],
)
def test_a_result_with_its_facts_stays_within_its_room(text: str, request_: str) -> None:
    assert len(told(text, request_)) <= ROOM + 100


def test_lines_of_windows_end_without_a_mark() -> None:
    assert told("one\r\ntwo\r\n", "line 2").endswith("\n(line 2: two)")


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
