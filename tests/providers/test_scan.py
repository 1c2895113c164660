import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.providers.scan import ObjectScanner

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=3)


def scanned(text: str, *cuts: int) -> ObjectScanner:
    scanner = ObjectScanner()
    for start, end in pairwise([0, *sorted(cuts), len(text)]):
        scanner.feed(text[start:end])
    return scanner


@pytest.mark.parametrize(
    "text", ['{"a":1}}', '{"a":1} x', '[{"a":1}]', '"{}"{}', "null", "}{", '{"a":1},{"b":2}']
)
def test_what_is_no_row_of_objects_is_not_taken_apart(text: str) -> None:
    assert scanned(text).pieces() == [text]


def test_an_unfinished_object_behind_a_whole_one_is_a_piece_of_its_own() -> None:
    scanner = scanned('{"a":1}{"b"')
    assert scanner.open
    assert scanner.pieces() == ['{"a":1}', '{"b"']


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.booleans(), st.sampled_from(["", " ", "\n"]), st.data())
def test_glued_objects_come_apart_wherever_the_fragments_were_cut(
    objects: list[object], ascii_only: bool, between: str, data: st.DataObject
) -> None:
    text = between.join(json.dumps(value, ensure_ascii=ascii_only) for value in objects)
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    scanner = scanned(text, *cuts)
    assert scanner.complete
    assert [json.loads(piece) for piece in scanner.pieces()] == objects


@given(OBJECTS, st.data())
def test_a_cut_object_is_never_complete(value: object, data: st.DataObject) -> None:
    text = json.dumps(value)
    part = text[: data.draw(st.integers(1, len(text) - 1))]
    assert scanned(part).open
    assert not scanned(part).complete
