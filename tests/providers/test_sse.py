from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.providers.sse import EVENT_BYTES, EventTooLongError, ServerEvent, SseDecoder


def decode(body: bytes, *cuts: int) -> list[ServerEvent]:
    decoder = SseDecoder()
    places = [0, *sorted(cuts), len(body)]
    events = [event for start, end in pairwise(places) for event in decoder.feed(body[start:end])]
    return [*events, *decoder.close()]


def datas(body: bytes) -> list[str]:
    return [event.data for event in decode(body)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_of_the_protocol_ends_an_event(end: str) -> None:
    assert datas(f"data: a{end}{end}data: b{end}{end}".encode()) == ["a", "b"]


def test_line_separators_of_unicode_end_nothing() -> None:
    text = "a\u2028b\u0085c\u2029d\x0be\x0cf\x1cg"
    assert datas(f"data: {text}\n\n".encode()) == [text]


def test_comments_ids_retries_and_empty_data_are_no_events() -> None:
    assert datas(b": hi\n\nid: 1\nretry: 5\n\ndata:\n\ndata: \n\ndata: x\n\n") == ["x"]


def test_one_space_after_the_colon_belongs_to_the_protocol_and_the_rest_to_the_data() -> None:
    assert datas(b"data:a\n\ndata: b\n\ndata:  c \n\n") == ["a", "b", " c "]


def test_the_data_lines_of_an_event_are_joined() -> None:
    assert datas(b"data: a\ndata: b\n\n") == ["a\nb"]


def test_a_byte_order_mark_is_no_part_of_the_first_field() -> None:
    assert datas("\ufeffdata: a\n\n".encode()) == ["a"]


def test_the_last_line_needs_no_line_end() -> None:
    assert datas(b"data: a\n\ndata: b") == ["a", "b"]


def test_an_event_can_call_itself_an_error() -> None:
    assert decode(b"event: error\ndata: boom\n\nerror: {}\n\ndata: x\n\n") == [
        ServerEvent("boom", error=True),
        ServerEvent("{}", error=True),
        ServerEvent("x"),
    ]


def test_bytes_that_are_no_utf8_are_replaced() -> None:
    assert datas(b"data: a\xffb\n\n") == ["a\ufffdb"]


def test_a_lone_carriage_return_ends_a_line_at_once() -> None:
    decoder = SseDecoder()
    assert [event.data for event in decoder.feed(b"data: a\r\r")] == ["a"]
    assert [event.data for event in decoder.feed(b"\ndata: b\r\r")] == ["b"]


@pytest.mark.parametrize(
    "body", [b"data: " + b"x" * (EVENT_BYTES + 1), b"data: xxxxxxx\n" * (EVENT_BYTES // 7 + 1)]
)
def test_an_event_beyond_the_bound_is_refused_without_being_kept(body: bytes) -> None:
    with pytest.raises(EventTooLongError):
        decode(body)


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=5
    ),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.data(),
)
def test_cutting_the_bytes_anywhere_changes_nothing(texts: list[str], end: str, data: st.DataObject) -> None:
    body = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=12))
    assert [event.data for event in decode(body, *cuts)] == texts
