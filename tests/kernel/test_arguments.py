"""Strict JSON: what is read, what is refused, and that nothing crashes."""

import json

from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.arguments import ParseFailure, parse_arguments

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(), JSON, min_size=1, max_size=5)


@given(OBJECTS)
def test_every_plain_object_is_read_as_it_is(value: dict[str, object]) -> None:
    assert parse_arguments(json.dumps(value)) == value
    assert parse_arguments(json.dumps(value, ensure_ascii=False)) == value


@given(OBJECTS, st.data())
def test_every_cut_object_is_refused_and_called_cut(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value)
    length = data.draw(st.integers(1, len(text) - 1))

    read = parse_arguments(text[:length])

    assert isinstance(read, ParseFailure)
    assert read.cut


@given(st.text(max_size=200))
def test_no_text_crashes_it(text: str) -> None:
    assert isinstance(parse_arguments(text), dict | ParseFailure)
