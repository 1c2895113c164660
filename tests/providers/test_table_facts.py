"""Tables of any usual form are compared and added up; all other text is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.providers.table_facts import CHINESE, table_facts

DEPTH = 100_000


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_table(separator: str) -> None:
    text = "id,strain,od\nA1,BYA,0.42\nA2,BYB,0.87\nB1,W,0.15\n".replace(",", separator)

    assert table_facts(text) == ["highest od: BYB (0.87); lowest od: W (0.15); all od together: 1.44"]


def test_json_lists_of_objects() -> None:
    people = '[{"name": "Ann", "age": 41}, {"name": "Ben", "age": 29}]'

    assert table_facts(people) == ["highest age: Ann (41); lowest age: Ben (29); all age together: 70"]
    assert table_facts('{"people": ' + people + "}") == table_facts(people)


def test_a_row_of_totals_is_no_row() -> None:
    assert table_facts("item,price\nbread,3\nmilk,2\nTotal,5\n") == [
        "highest price: bread (3); lowest price: milk (2); all price together: 5"
    ]


def test_sums_keep_every_digit() -> None:
    rows = "".join(f"n{number},99999999.01\n" for number in range(150))

    assert table_facts(f"who,v\n{rows}z,1\n")[0].endswith("all v together: 14999999852.50")


def test_dates_have_a_first_and_a_last_and_no_sum() -> None:
    text = "who,born\nAnn,1990-01-02\nBen,1980-05-06\n"

    assert table_facts(text) == ["latest born: Ann (1990-01-02); earliest born: Ben (1980-05-06)"]


def test_years_are_not_added_up() -> None:
    assert table_facts("who,since\nAnn,2019\nBen,2022\n") == [
        "highest since: Ben (2022); lowest since: Ann (2019)"
    ]


def test_a_column_of_few_words_makes_groups_with_sums() -> None:
    text = "item,state,price\nrake,paid,5\nhoe,open,7\nspade,open,8\n"

    assert table_facts(text)[1:] == [
        "state paid: 1 (rake); all price together: 5",
        "state open: 2 (hoe, spade); all price together: 15",
    ]
    assert "state open：2 行（hoe, spade）；price合计：15" in table_facts(text, CHINESE)


def test_rows_of_the_same_value_are_named_up_to_four() -> None:
    rows = "".join(f"{name},1\n" for name in "abcdef")

    assert "lowest v: a, b, c, d, and 2 more (1)" in table_facts(f"n,v\n{rows}z,2\n")[0]


def test_rows_are_named_by_names_rather_than_by_codes_and_else_counted() -> None:
    assert "highest v: Ben (2)" in table_facts("code,who,v\nX1,Ann,1\nX2,Ben,2\n")[0]
    assert "highest v: X2 (2)" in table_facts("code,who,v\nX1,Ann,1\nX2,Ann,2\n")[0]
    assert "highest v: X2 B9 (2)" in table_facts("code,kind,v\nX1,B7,1\nX2,B9,2\n")[0]
    assert "highest v: 2 (9)" in table_facts("v,w\n5,3\n9,3\n")[0]


@pytest.mark.parametrize("column", ["001\n002", "13800001122\n13900003344", "1\n2"])
def test_numbers_that_are_names_are_not_compared(column: str) -> None:
    first, second = column.split("\n")

    assert table_facts(f"id,who\n{first},Ann\n{second},Ben\n") == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello, world\nfoo, bar\nbaz, x\n",
        "# Title\n\na, b",
        "[server]\nport = 1\n",
        "a,b\n1,2\n",
        "a,b\n5,2\n3\n",
        "1,2\n3,4\n5,6\n",
        "a,a\n5,2\n3,4\n",
        "a,b\n5,x\n2,y,z\n",
        '{"a": 1}',
        "[1, 2]",
        '[{"a": [1]}, {"a": [2]}]',
        "{",
        '[{"a": 1}, 2]',
        '{"a": true, "b": false}',
        "n,d\nx,2020-13-01\ny,2020-02-30\n",
        "[" * DEPTH,
        'a,"b\n5,2\n3,4',
        '{"a": NaN, "b": Infinity}',
        "a,b\x00\n5,\x00\n",
        '{"port": 8080, "timeout": 30, "retries": 3}',
        "town;people\nBonn;330.579\nDorf;999\n",
        "Anna,Berlin\nBob,Berlin\nEve,Paris\nTom,Paris\n",
        "name,version\na,1.9\nb,1.10\n",
    ],
)
def test_what_is_no_table_of_numbers_has_no_facts(text: str) -> None:
    assert table_facts(text) == []


@given(st.lists(st.integers(-(10**7), 10**7), min_size=2, max_size=50, unique=True))
def test_the_sum_and_the_extremes_are_right(values: list[int]) -> None:
    said = table_facts("name,v\n" + "".join(f"r,{value}\n" for value in values))

    years = all(1900 <= value <= 2100 for value in values)
    assert f"({max(values)})" in said[0].split("; ")[0]
    assert f"({min(values)})" in said[0].split("; ")[1]
    assert years or said[0].endswith(f"all v together: {sum(values)}")


@given(st.text(alphabet='ab1,;\t\n"[]{}:-. \u4e00\x00', max_size=80))
def test_no_text_is_too_odd(text: str) -> None:
    assert all(table_facts(text))
