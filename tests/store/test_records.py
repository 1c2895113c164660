"""Session files with random damage: every whole record survives, and nothing is ever raised."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.store.audit import read_history
from limnos.store.records import MAX_DEPTH, MAX_LINE, RecordError, encode_record, read_records
from limnos.testing.case_kinds import session_damage
from limnos.testing.cases import read_cases
from tests.conftest import SHARED

CASES = list(read_cases(SHARED / "cases" / "session_damage.jsonl"))
TEXTS = st.text(max_size=30) | st.sampled_from(
    ['{"v":1,"seq":9,"type":"x"}', "\x00\x00", "\n", '","sum":"', "\ud800"]
)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def record_with(value: object) -> dict[str, object]:
    return {"v": 1, "seq": 1, "type": "call_started", "arguments": value}


def nested(levels: int) -> object:
    value: object = "deep"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


def file_of(texts: list[str]) -> list[bytes]:
    return [
        encode_record({"v": 1, "seq": seq, "type": "warning", "code": "c", "text": text})
        for seq, text in enumerate(texts, 1)
    ]


@given(st.lists(TEXTS, max_size=8))
def test_what_is_written_is_read(texts: list[str]) -> None:
    loaded = read_records(b"".join(file_of(texts)))

    assert [record["seq"] for record in loaded.records] == list(range(1, len(texts) + 1))
    assert (loaded.damaged, loaded.torn, loaded.changed) == (0, b"", [])
    assert [record["text"] for record in loaded.records] == [
        text.encode("utf-8", "replace").decode() for text in texts
    ]


@given(st.lists(TEXTS, min_size=1, max_size=8), st.data())
@settings(max_examples=200)
def test_a_file_cut_anywhere_loses_at_most_the_record_it_is_cut_in(
    texts: list[str], data: st.DataObject
) -> None:
    lines = file_of(texts)
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))

    loaded = read_records(whole[:cut])

    ends = [sum(map(len, lines[:count])) for count in range(1, len(lines) + 1)]
    kept = sum(1 for end in ends if end - 1 <= cut)
    assert [record["seq"] for record in loaded.records] == list(range(1, kept + 1))


@given(st.lists(TEXTS, min_size=1, max_size=8), st.data())
@settings(max_examples=300)
def test_a_damaged_byte_costs_at_most_its_own_record_and_is_noticed(
    texts: list[str], data: st.DataObject
) -> None:
    lines = file_of(texts)
    whole = bytearray(b"".join(lines))
    place = data.draw(st.integers(0, len(whole) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda value: value != whole[place]))
    ends = [sum(map(len, lines[:count])) for count in range(1, len(lines) + 1)]
    hit = next(number for number, end in enumerate(ends) if place < end)
    on_a_line_end = place == ends[hit] - 1
    whole[place] = value

    loaded = read_records(bytes(whole))

    others = {
        seq for seq in range(1, len(lines) + 1) if seq not in (hit + 1, hit + 2 if on_a_line_end else 0)
    }
    assert others <= {record["seq"] for record in loaded.records}
    in_the_checksum = place >= whole.rfind(b',"sum"', 0, ends[hit])
    assert loaded.damaged or loaded.torn or in_the_checksum


@given(VALUES, st.integers(0, MAX_DEPTH + 20))
@settings(max_examples=300)
def test_whatever_can_be_written_is_read_back_equal(value: object, levels: int) -> None:
    record = record_with([value, nested(levels)])
    try:
        line = encode_record(record)
    except RecordError:
        return

    (loaded,) = read_records(line).records

    assert {name: loaded[name] for name in record} == record


@pytest.mark.parametrize("levels", [64, 65, MAX_DEPTH - 1])
def test_arguments_as_deep_as_models_may_send_them_survive(levels: int) -> None:
    record = record_with(nested(levels))

    loaded = read_records(encode_record(record))

    assert loaded.damaged == 0
    assert loaded.records[0]["arguments"] == record["arguments"]


def test_a_record_larger_than_what_a_model_may_send_survives() -> None:
    text = 'a long text with "quotes", [brackets] and {braces\n' * 60_000

    loaded = read_records(encode_record(record_with(text)))

    assert loaded.damaged == 0
    assert loaded.records[0]["arguments"] == text


@pytest.mark.parametrize(
    "value",
    [nested(MAX_DEPTH), nested(100_000), float("nan"), float("inf"), b"bytes", "x" * MAX_LINE],
    ids=["too deep", "far too deep", "nan", "infinite", "no json", "too large"],
)
def test_what_could_not_be_read_back_is_never_written(value: object) -> None:
    with pytest.raises(RecordError):
        encode_record(record_with(value))


@pytest.mark.parametrize("tail", ["NaN", "1e999", "[" * 100_000, '"' + "[" * 500 + '"}x'])
def test_a_line_that_is_no_strict_json_is_damage_and_not_a_crash(tail: str) -> None:
    loaded = read_records(b'{"v":1,"seq":1,"type":"x","a":' + tail.encode() + b"}\n")

    assert (loaded.records, loaded.damaged) == ([], 1)


def test_escaped_halves_of_characters_become_question_marks() -> None:
    loaded = read_records(b'{"v":1,"seq":1,"type":"x","a":"\\ud800!"}\n')

    assert loaded.records[0]["a"] == "?!"


def test_a_record_is_one_line_of_utf_8_with_version_and_number() -> None:
    line = encode_record({"v": 1, "seq": 7, "type": "warning", "code": "c", "text": "a\nb\u2028c"})

    assert line.count(b"\n") == 1
    record = json.loads(line)
    assert (record["v"], record["seq"], record["text"]) == (1, 7, "a\nb\u2028c")


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES])
def test_a_damaged_file_is_read_as_the_case_file_says(case: dict[str, object], tmp_path: Path) -> None:
    assert session_damage.check(case) is None


WRONG = (
    {"reasoning": [1]}, {"reasoning": "x"}, {"calls": [1]}, {"text": None}, {"tokens": "9"},
    {"tokens": True}, {"complete": 1}, {"seq": "1"}, {"turn": None},
)  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_a_field_of_another_type_is_damage_and_no_fault(wrong: dict[str, object], tmp_path: Path) -> None:
    good = {"v": 1, "seq": 1, "type": "step_finished", "text": "a", "calls": [], "reasoning": [], "tokens": 1}
    path = tmp_path / "s.jsonl"
    path.write_text(f"{json.dumps(good)}\n{json.dumps(good | {'seq': 2} | wrong)}\n")

    history = read_history(path)

    assert [event.seq for event in history.events] == [1]
    assert history.damaged
