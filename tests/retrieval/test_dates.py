from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.retrieval.dates import asked_marks, day_marks


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        "what happened on 7 May 2023?",
        "on the 7th of May, 2023",
        "on May 7, 2023",
        "on May 7th 2023",
        "on 2023-05-07",
        "on 2023/5/7",
        "2023年5月7日我们说了什么？",
        "7 MAY 2023",
    ],
)
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    assert "@2023-05-07" in asked_marks(text)
    assert set(asked_marks(text)) <= set(day_marks(at("2023-05-07T22:10")))


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("in May 2023", ["@2023-05"]),
        ("in July", ["@07"]),
        ("since last September", ["@09"]),
        ("on 3 March", ["@03-03", "@03"]),
        ("5月7号", ["@05-07", "@05"]),
        ("2023年5月", ["@2023-05"]),
        ("what did we do in 2022?", ["@2022"]),
        ("between 3 March 2023 and April 2024", ["@2023-03-03", "@2023-03", "@2024-04"]),
    ],
)
def test_a_part_of_a_date_asks_for_what_it_names(text: str, marks: list[str]) -> None:
    assert asked_marks(text) == marks


@pytest.mark.parametrize(
    "text",
    [
        "it may rain and march on",
        "version 1.2.3 of 40 files",
        "2023x 20231",
        "99 月",
        "on 45 May",
        "2023-99-01 at",
    ],
)
def test_what_is_no_date_asks_for_no_day(text: str) -> None:
    assert not any("-" in mark for mark in asked_marks(text))


def test_a_time_no_calendar_has_gives_no_marks() -> None:
    for time in (float("nan"), float("inf"), 1e30, -1e30):
        assert day_marks(time) == []


@given(st.text(st.characters(), max_size=300))
def test_any_text_can_be_asked(text: str) -> None:
    assert len(asked_marks(text)) <= 16


@given(st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2099, 12, 30)))
def test_every_day_is_found_by_its_own_date(moment: datetime) -> None:
    marks = day_marks(moment.replace(tzinfo=UTC).timestamp())

    assert set(asked_marks(f"on {moment:%Y-%m-%d}")) <= set(marks)
    assert set(asked_marks(f"on {moment.day} {moment:%B} {moment.year}")) <= set(marks)
