import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.kernel.messages import ToolCall
from limnos.kernel.model import CallDelta, Finish, ReasoningDelta, TextDelta, Usage
from limnos.providers.assemble import ReplyAssembler
from limnos.providers.body import ReplyBody
from limnos.testing.model_server import delta, sse

from .support import Heard
from .test_scan import OBJECTS

TOOLS = ("read", "read_file", "web_search", "get_weather", "now")


def assembled(*chunks: dict[str, Any], tools: tuple[str, ...] = (), done: bool = True) -> Heard:
    return from_bytes([sse(*chunks, done=done)], tools)


def from_bytes(reads: list[bytes], tools: tuple[str, ...] = ()) -> Heard:
    reply = ReplyAssembler(tools)
    body = ReplyBody(reply)
    deltas = [item for read in reads for item in body.feed(read)]
    return Heard([*deltas, *body.close(), *reply.finish()])


def piece(
    arguments: object = None, name: str | None = None, call_id: str | None = None, index: int | None = None
) -> dict[str, Any]:
    """One fragment; None means that the field is not there."""
    function = {"name": name, "arguments": arguments}
    fields = {"index": index, "id": call_id, "function": {k: v for k, v in function.items() if v is not None}}
    return {key: value for key, value in fields.items() if value is not None}


def calls_of(
    *pieces: dict[str, Any] | list[dict[str, Any]], tools: tuple[str, ...] = ()
) -> tuple[ToolCall, ...]:
    deltas = [delta(tool_calls=item if isinstance(item, list) else [item]) for item in pieces]
    return assembled(*deltas, delta("tool_calls"), tools=tools).finish.calls


def names_and_arguments(calls: tuple[ToolCall, ...]) -> list[tuple[str, object]]:
    return [(call.name, None if call.arguments is None else dict(call.arguments)) for call in calls]


# --- dialects, each over random calls, random cuts of the arguments and random cuts of the bytes ---

Call = tuple[str, dict[str, Any]]
Pieces = list[list[str]]


def index_and_id(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [
            piece(part, name if n == 0 else None, f"c{i}" if n == 0 else None, i)
            for n, part in enumerate(cut[i])
        ]
        for i, (name, _) in enumerate(calls)
    ]


def index_only(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [piece(part, name if n == 0 else None, None, i) for n, part in enumerate(cut[i])]
        for i, (name, _) in enumerate(calls)
    ]


def id_only(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [piece(part, name if n == 0 else None, f"c{i}") for n, part in enumerate(cut[i])]
        for i, (name, _) in enumerate(calls)
    ]


def everything_repeated(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [[piece(part, name, f"c{i}", i) for part in cut[i]] for i, (name, _) in enumerate(calls)]


def one_index_with_ids(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [piece(part, name if n == 0 else "", f"c{i}" if n == 0 else " ", 0) for n, part in enumerate(cut[i])]
        for i, (name, _) in enumerate(calls)
    ]


def one_index_without_ids(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [piece(part, name if n == 0 else None, None, 0) for n, part in enumerate(cut[i])]
        for i, (name, _) in enumerate(calls)
    ]


def nothing_but_names(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [piece(part, name if n == 0 else None) for n, part in enumerate(cut[i])]
        for i, (name, _) in enumerate(calls)
    ]


def names_in_every_piece(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [[piece(part, name) for part in cut[i]] for i, (name, _) in enumerate(calls)]


def name_cut_in_two(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [
            piece("", name[:2], f"c{i}", i),
            piece(None, name[2:], None, i),
            *(piece(part, None, None, i) for part in cut[i]),
        ]
        for i, (name, _) in enumerate(calls)
    ]


def same_id_for_all(calls: list[Call], cut: Pieces) -> list[list[dict[str, Any]]]:
    return [
        [piece(part, name if n == 0 else None, "dup" if n == 0 else None, i) for n, part in enumerate(cut[i])]
        for i, (name, _) in enumerate(calls)
    ]


Dialect = Callable[[list[Call], Pieces], list[list[dict[str, Any]]]]
INTERLEAVED: list[Dialect] = [index_and_id, index_only, id_only, everything_repeated, name_cut_in_two]
ONE_BY_ONE: list[Dialect] = [
    one_index_with_ids,
    one_index_without_ids,
    nothing_but_names,
    names_in_every_piece,
    same_id_for_all,
]


def split(text: str, cuts: list[int]) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sorted(cuts), len(text)])]


@st.composite
def cut_calls(draw: st.DrawFn) -> tuple[list[Call], Pieces]:
    calls = draw(st.lists(st.tuples(st.sampled_from(TOOLS), OBJECTS), min_size=1, max_size=4))
    texts = [json.dumps(arguments, ensure_ascii=draw(st.booleans())) for _, arguments in calls]
    return calls, [split(text, draw(st.lists(st.integers(1, len(text)), max_size=4))) for text in texts]


def mixed(queues: list[list[dict[str, Any]]], draw: st.DataObject) -> Iterator[dict[str, Any]]:
    """The pieces in any order that keeps each call's own and the order in which calls begin."""
    left = [list(queue) for queue in queues]
    begun = 0
    while any(left):
        ready = [n for n, queue in enumerate(left) if queue and n <= begun]
        chosen = draw.draw(st.sampled_from(ready))
        begun = max(begun, chosen + 1)
        yield left[chosen].pop(0)


def read_in_cuts(pieces: list[dict[str, Any]], data: st.DataObject) -> Heard:
    body = sse(*[delta(tool_calls=[item]) for item in pieces], delta("tool_calls"))
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=8))
    return from_bytes([body[start:end] for start, end in pairwise([0, *sorted(cuts), len(body)])], TOOLS)


@pytest.mark.parametrize("dialect", INTERLEAVED)
@settings(max_examples=60, deadline=None)
@given(cut_calls(), st.data())
def test_interleaved_calls_come_out_whole(
    dialect: Dialect, drawn: tuple[list[Call], Pieces], data: st.DataObject
) -> None:
    calls, cut = drawn
    heard = read_in_cuts(list(mixed(dialect(calls, cut), data)), data)
    assert names_and_arguments(heard.finish.calls) == [(name, arguments) for name, arguments in calls]
    assert heard.finish.runnable


@pytest.mark.parametrize("dialect", [*INTERLEAVED, *ONE_BY_ONE])
@settings(max_examples=60, deadline=None)
@given(cut_calls(), st.data())
def test_calls_one_after_the_other_come_out_whole_and_with_ids_of_their_own(
    dialect: Dialect, drawn: tuple[list[Call], Pieces], data: st.DataObject
) -> None:
    calls, cut = drawn
    heard = read_in_cuts([item for queue in dialect(calls, cut) for item in queue], data)
    assert names_and_arguments(heard.finish.calls) == [(name, arguments) for name, arguments in calls]
    ids = [call.id for call in heard.finish.calls]
    assert len(set(ids)) == len(ids)
    assert all(ids)


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters()), st.text(st.characters()), st.data())
def test_text_and_reasoning_survive_any_cut_and_are_always_utf8(
    text: str, thought: str, data: st.DataObject
) -> None:
    chunks = [delta(reasoning_content=part) for part in split(thought, data.draw(cut_places(thought)))]
    chunks += [delta(content=part) for part in split(text, data.draw(cut_places(text)))]
    body = sse(*chunks, delta("stop")) if text.isascii() else ascii_sse(*chunks, delta("stop"))
    heard = from_bytes(
        [body[start:end] for start, end in pairwise([0, *sorted(data.draw(cut_places(body))), len(body)])]
    )
    assert heard.text == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert heard.reasoning == thought.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert all(item.text.encode() for item in heard.deltas if isinstance(item, TextDelta | ReasoningDelta))


def cut_places(of: str | bytes) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, len(of)), max_size=6)


def ascii_sse(*chunks: dict[str, Any]) -> bytes:
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.binary(max_size=80) | st.sampled_from([b"data: {", b"}\n\n", b'"choices":[', b'{"delta":']),
        max_size=12,
    )
)
def test_garbage_ends_in_exactly_one_finish_and_nothing_to_run(reads: list[bytes]) -> None:
    heard = from_bytes(reads)
    assert not heard.finish.runnable


# --- single kinds of fault that the case file names, and their neighbours ---


def test_a_fragment_without_head_or_index_goes_to_the_call_that_is_still_open() -> None:
    calls = calls_of([piece('{"a":', "f"), piece('{"b":', "g")], piece("1}"), piece("2}"))
    assert names_and_arguments(calls) == [("f", {"a": 1}), ("g", {"b": 2})]


def test_heads_together_under_one_index_get_their_bodies_in_order() -> None:
    calls = calls_of(
        piece("", "f", "a", 0), piece("", "g", "b", 0), piece('{"x":1}', index=0), piece('{"y":2}', index=0)
    )
    assert names_and_arguments(calls) == [("f", {"x": 1}), ("g", {"y": 2})]


def test_arguments_before_the_head_of_a_second_call_under_the_same_index_are_its_own() -> None:
    calls = calls_of(piece('{"x":1}', "f", "a", 0), piece('{"y":', index=0), piece("2}", "g", "b", 0))
    assert names_and_arguments(calls) == [("f", {"x": 1}), ("g", {"y": 2})]


def test_arguments_before_the_head_are_taken_back_from_a_call_that_needed_none() -> None:
    calls = calls_of(piece("", "now", "a", 0), piece('{"y":', index=1), piece("2}", "g", "b", 1))
    assert names_and_arguments(calls) == [("now", {}), ("g", {"y": 2})]


def test_objects_glued_over_fragments_are_calls_of_the_same_name() -> None:
    for index in (0, None):
        calls = calls_of(*(piece(part, name, None, index) for part, name in GLUED))
        assert names_and_arguments(calls) == [("f", {"x": 1}), ("f", {"x": 2}), ("f", {"x": 3})]


GLUED = [('{"x":1}', "f"), ('{"x":', None), ("2}", None), ('{"x":3}', None)]


@pytest.mark.parametrize("index", [0, None])
def test_junk_behind_a_whole_object_spoils_the_call(index: int | None) -> None:
    (call,) = calls_of(piece('{"x":1}', "f", "a", index), piece("}", index=index))
    assert call.arguments is None


def test_a_fragment_without_index_goes_to_the_call_that_was_last_spoken_of() -> None:
    calls = calls_of(
        piece('{"x":', "f", "a", 0), piece("1}"), piece('{"y":', "g", "b", 1), piece("2}"), piece("", index=0)
    )
    assert names_and_arguments(calls) == [("f", {"x": 1}), ("g", {"y": 2})]


def test_an_index_that_only_comes_later_changes_nothing() -> None:
    calls = calls_of(piece('{"x":', "f", "a"), piece('{"y":1}}', index=0))
    assert names_and_arguments(calls) == [("f", {"x": {"y": 1}})]


def test_ids_that_can_not_be_told_apart_as_text_are_made_different() -> None:
    pieces = [piece("{}", "f", "\ud83d", 0), piece("{}", "f", "\ud83e", 1)]
    calls = from_bytes([ascii_sse(delta(tool_calls=pieces), delta("stop"))]).finish.calls
    assert calls[0].id == "\ufffd" != calls[1].id


def test_the_arguments_may_come_at_the_next_index_for_every_call() -> None:
    calls = calls_of(
        piece("", "f", "a", 0), piece('{"x":1}', index=1), piece("", "g", "b", 1), piece('{"y":2}', index=2)
    )
    assert names_and_arguments(calls) == [("f", {"x": 1}), ("g", {"y": 2})]


def test_an_index_that_counts_fragments_does_not_tear_a_call_apart() -> None:
    calls = calls_of(piece('{"x":', "f", "a", 0), piece('"long', index=1), piece('"}', index=2))
    assert names_and_arguments(calls) == [("f", {"x": "long"})]


def test_an_id_that_is_new_in_every_fragment_does_not_tear_a_call_apart() -> None:
    calls = calls_of(piece('{"x":', "f", "a", 0), piece('"long', None, "b", 0), piece('"}', None, "c", 0))
    assert names_and_arguments(calls) == [("f", {"x": "long"})]


def test_a_call_said_once_more_in_full_is_one_call() -> None:
    calls = calls_of(
        piece('{"x":', "f", "a", 0),
        piece("1}", index=0),
        piece('{"x":1}', "f", "a", 0),
        piece("", "f", "a", 0),
    )
    assert names_and_arguments(calls) == [("f", {"x": 1})]


def test_two_calls_under_one_index_and_one_id_are_two_calls() -> None:
    calls = calls_of(piece('{"p":1}', "read", "dup", 0), piece('{"p":2}', "read", "dup", 0))
    assert names_and_arguments(calls) == [("read", {"p": 1}), ("read", {"p": 2})]
    assert calls[0].id == "dup" != calls[1].id


def test_known_tools_tell_a_second_call_from_the_second_half_of_a_name() -> None:
    pieces = [piece("", "read", None, 0), piece("{}", "now", None, 0)]
    assert names_and_arguments(calls_of(*pieces, tools=("read", "now"))) == [("read", {}), ("now", {})]
    assert names_and_arguments(calls_of(*pieces, tools=("readnow",))) == [("readnow", {})]


def test_a_name_that_grows_from_fragment_to_fragment_is_not_doubled() -> None:
    pieces = [piece("", "web", "c", 0), piece("", "web_sea", "c", 0), piece("{}", "web_search", "c", 0)]
    assert names_and_arguments(calls_of(*pieces, tools=("web_search",))) == [("web_search", {})]


def test_numbers_as_texts_and_texts_as_numbers_are_read_as_what_they_mean() -> None:
    calls = calls_of(
        {"index": "0", "id": 7, "function": {"name": "f", "arguments": "{"}},
        {"index": "1", "id": 8, "function": {"name": "g", "arguments": "{"}},
        {"index": "0", "function": {"arguments": "}"}},
        {"index": "1", "function": {"arguments": "}"}},
    )
    assert [(call.name, call.id) for call in calls] == [("f", "7"), ("g", "8")]


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":' * 70 + "1" + "}" * 70,
        '{"a":' + "9" * 400 + "}",
        "[1]",
        '"{}"',
        "7",
    ],
)
def test_what_a_lenient_reader_would_take_is_refused_as_text_and_as_object(raw: str) -> None:
    chunk = '{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":%s}}]}}]}'
    for arguments in (raw, json.dumps(raw)):
        heard = from_bytes([f"data: {chunk % arguments}\n\ndata: [DONE]\n\n".encode()])
        (call,) = heard.finish.calls
        if arguments == '"{}"':  # as a text this is an empty object, as an object it is none
            assert call.arguments == {}
            continue
        assert call.arguments is None
        assert call.parse_error
        assert not call.cut


def test_a_call_without_a_name_never_runs() -> None:
    (call,) = calls_of(piece("{}", None, "c", 0))
    assert call.arguments is None
    assert "names no tool" in (call.parse_error or "")


def test_an_id_alone_is_no_call() -> None:
    assert calls_of(piece("", "", "c", 0)) == ()


@pytest.mark.parametrize("chunks", [[delta("length")], []])
def test_a_call_that_was_cut_says_so(chunks: list[dict[str, Any]]) -> None:
    heard = assembled(delta(tool_calls=[piece('{"a":"half', "f", "c", 0)]), *chunks, done=False)
    (call,) = heard.finish.calls
    assert call.cut
    assert call.arguments is None
    assert not heard.finish.runnable


def test_that_a_reply_was_cut_is_not_taken_back_by_a_later_reason() -> None:
    heard = assembled(delta(tool_calls=[piece("{}", "f", "c", 0)]), delta("length"), delta("stop"))
    assert heard.finish.reason == "length"
    assert not heard.finish.runnable


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "max_tokens", "model_length", " length "])
def test_every_word_for_the_token_limit_stops_the_calls(reason: str) -> None:
    assert assembled(delta(tool_calls=[piece("{}", "f", "c", 0)]), delta(reason)).finish.reason == "length"


def test_reasoning_that_used_up_the_budget_is_named() -> None:
    heard = assembled(delta(reasoning_content="hm"), delta("length"))
    assert "reasoning used up" in heard.finish.detail


@pytest.mark.parametrize(
    "chunk",
    [
        {"error": {"message": "boom"}},
        {"error": "boom"},
        {"error": {"error": "boom"}},
        {"object": "error", "message": "boom", "code": 500},
        {"type": "error", "message": "boom"},
        {"detail": "boom"},
        {"choices": [{"index": 0, "error": {"message": "boom"}}]},
        {"error": [{"message": "boom"}]},
    ],
)
def test_every_form_of_error_ends_the_reply_as_an_error(chunk: dict[str, Any]) -> None:
    heard = assembled(delta(content="a"), chunk)
    assert heard.finish.reason == "error"
    assert "boom" in heard.finish.detail


@pytest.mark.parametrize(
    "body",
    [
        b"event: error\ndata: boom\n\n",
        b'event: error\ndata: {"reason":"boom"}\n\n',
        b'error: {"message":"boom"}\n\n',
    ],
)
def test_an_error_event_ends_the_reply_as_an_error(body: bytes) -> None:
    heard = from_bytes([body, b"data: [DONE]\n\n"])
    assert heard.finish.reason == "error"
    assert "boom" in heard.finish.detail


@pytest.mark.parametrize("nothing", [None, "", {}, [], False])
def test_an_empty_error_field_is_no_error(nothing: object) -> None:
    heard = assembled({**delta("stop", content="a"), "error": nothing})
    assert heard.finish.reason == "stop"


def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {"role": "assistant", "content": "Hi", "tool_calls": [piece('{"a":1}', "f", "c")]}
    body = json.dumps(
        {"choices": [{"message": message}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}, indent=2
    )
    heard = from_bytes([body.encode()])
    assert heard.text == "Hi"
    assert names_and_arguments(heard.finish.calls) == [("f", {"a": 1})]
    assert heard.usage == Usage(3, 1)
    assert heard.finish.runnable


def test_a_body_of_json_that_breaks_off_is_incomplete() -> None:
    assert from_bytes([b'{"choices":[{"message":{"content":"Hi"']).finish.reason == "incomplete"


def test_a_json_body_beyond_its_bound_is_an_error_and_not_kept() -> None:
    heard = from_bytes([b"{" + b" " * 1_000_000] * 11)
    assert heard.finish.reason == "error"


def test_one_json_object_a_line_is_understood() -> None:
    lines = [delta(content="a"), delta(content="b"), delta("stop")]
    assert from_bytes(["\n".join(map(json.dumps, lines)).encode()]).text == "ab"


def test_chunks_without_a_blank_line_between_them_are_understood() -> None:
    lines = [delta(content="a"), delta(content="b"), delta("stop")]
    body = "".join(f"data: {json.dumps(line)}\n" for line in lines) + "data: [DONE]\n\n"
    heard = from_bytes([body.encode()])
    assert (heard.text, heard.finish.reason) == ("ab", "stop")


def test_a_closing_message_does_not_repeat_what_was_streamed() -> None:
    closing = {"choices": [{"message": {"content": "ab"}, "finish_reason": "stop"}]}
    heard = assembled(delta(content="a"), delta(content="b"), closing)
    assert (heard.text, heard.finish.reason) == ("ab", "stop")


def test_nothing_counts_after_the_end_mark() -> None:
    body = sse(delta("stop", content="a")) + sse(delta(content="b"))
    assert from_bytes([body]).text == "a"


def test_reasoning_in_content_parts_and_details_goes_to_its_place() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "ok"},
    ]
    details = [{"type": "reasoning.text", "text": " yes", "signature": "sig"}]
    heard = assembled(delta(content=parts), delta(reasoning_details=details), delta("stop"))
    assert (heard.text, heard.reasoning) == ("ok", "hm yes")
    assert ReasoningDelta(" yes", "sig") in heard.deltas


def test_a_refusal_is_shown_as_text() -> None:
    assert assembled(delta(content=None, refusal="No."), delta("stop")).text == "No."


def test_usage_comes_from_the_last_number_of_each_kind_and_cached_tokens_are_found() -> None:
    heard = assembled(
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": None}},
        {**delta("stop", content="a"), "usage": None},
        {"choices": [], "usage": {"completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 6}}},
    )
    assert heard.usage == Usage(9, 4, 6)


def test_calls_are_shown_while_they_grow() -> None:
    heard = assembled(
        delta(tool_calls=[piece('{"a":', "f", "c", 0)]),
        delta(tool_calls=[piece("1}", index=0)]),
        delta("stop"),
    )
    assert [item for item in heard.deltas if isinstance(item, CallDelta)] == [
        CallDelta(0, "f", '{"a":'),
        CallDelta(0, "f", "1}"),
    ]
    assert isinstance(heard.deltas[-1], Finish)


def test_a_reply_of_endless_calls_is_an_error_and_not_endless_work() -> None:
    assembler = ReplyAssembler(["f"])
    calls = [{"index": n, "id": f"c{n}", "function": {"name": "f", "arguments": "{}"}} for n in range(5_000)]

    assembler.feed({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]})
    end = assembler.finish()[-1]

    assert isinstance(end, Finish)
    assert (end.reason, end.runnable) == ("error", False)
    assert "256 calls" in end.detail
