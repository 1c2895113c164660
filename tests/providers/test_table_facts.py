"""Tables of any usual form are counted, compared and added up; all other text is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.providers.table_facts import table_facts


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_table(separator: str) -> None:
    text = "id,strain,od\nA1,BY41,0.42\nA2,BY42,0.87\nB1,W303,0.15\n".replace(",", separator)

    assert (
        table_facts(text)
        == "3 rows; od: lowest 0.15 (B1 W303), highest 0.87 (A2 BY42), sum 1.44, average 0.48"
    )


def test_json_lists_and_objects_of_numbers() -> None:
    people = '[{"name": "Ann", "age": 41}, {"name": "Ben", "age": 29}]'

    assert table_facts(people) == "2 rows; age: lowest 29 (Ben), highest 41 (Ann), sum 70, average 35"
    assert table_facts('{"people": ' + people + "}") == table_facts(people)
    assert table_facts('{"Ann": 41, "Ben": 29}').startswith(
        "2 rows; value: lowest 29 (Ben), highest 41 (Ann)"
    )


def test_dates_have_a_first_and_a_last() -> None:
    text = "who,born\nAnn,1990-01-02\nBen,1980-05-06\n"

    assert table_facts(text) == "2 rows; born: earliest 1980-05-06 (Ben), latest 1990-01-02 (Ann)"


def test_rows_of_the_same_value_are_all_named_up_to_three() -> None:
    assert "lowest 1 (a / b / c and 1 more)" in table_facts("n,v\na,1\nb,1\nc,1\nd,1\ne,2\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello, world\nfoo, bar\nbaz, x\n",
        "# Title\n\na, b",
        "[server]\nport = 1\n",
        "a,b\n1,2\n",
        "a,b\n1,2\n3\n",
        "1,2\n3,4\n5,6\n",
        "a,a\n1,2\n3,4\n",
        "a,b\n1,x\n2,y,z\n",
        '{"a": 1}',
        "[1, 2]",
        '[{"a": [1]}, {"a": [2]}]',
        "{",
        '[{"a": 1}, 2]',
        '{"a": true, "b": false}',
        "n,d\nx,2020-13-01\ny,2020-02-30\n",
        "[" * 100_000,
        'a,"b\n1,2\n3,4',
        '{"a": NaN, "b": Infinity}',
        "a,b\x00\n1,\x00\n",
    ],
)
def test_what_is_no_table_of_numbers_has_no_facts(text: str) -> None:
    assert table_facts(text) == ""


@given(st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=50))
def test_the_sum_and_the_extremes_are_right(values: list[int]) -> None:
    said = table_facts("name,v\n" + "".join(f"r{place},{value}\n" for place, value in enumerate(values)))

    assert said.startswith(f"{len(values)} rows; v: lowest {min(values)} (")
    assert f"highest {max(values)} (" in said
    assert float(said.split("sum ")[1].split(",")[0]) == pytest.approx(sum(values), rel=1e-9)


@given(st.text(alphabet='ab1,;\t\n"[]{}:-. \u4e00\x00', max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    said = table_facts(text)

    assert "\n" not in said or "\n" in text
