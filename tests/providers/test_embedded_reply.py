"""What the embedded model says becomes the same deltas however it is cut into pieces."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.messages import ToolCall
from limnos.kernel.model import CallDelta, Finish, FinishReason, TextDelta
from limnos.providers.embedded_reply import ReplyDecoder, goes_round


def decode(pieces: list[str], reason: FinishReason = "stop") -> tuple[str, str, Finish]:
    """The text, the shown fragments of the call, the end."""
    ids = itertools.count(1)
    decoder = ReplyDecoder(lambda: f"c{next(ids)}")
    text, fragments = "", ""
    for piece in pieces:
        match decoder.feed(piece):
            case TextDelta(more):
                text += more
            case CallDelta(_, _, fragment):
                fragments += fragment
            case None:
                pass
    last, finish = decoder.finish(reason)
    return text + (last.text if last else ""), fragments, finish


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts, st.booleans(), st.data())
def test_an_answer_arrives_whole_however_it_is_cut(text: str, ascii_only: bool, data: st.DataObject) -> None:
    raw = json.dumps({"answer": text}, ensure_ascii=ascii_only)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    pieces = [raw[a:b] for a, b in itertools.pairwise([0, *cuts, len(raw)])]
    assert decode(pieces) == (text, "", Finish("stop"))
    assert decode(list(raw)) == (text, "", Finish("stop"))


@given(st.dictionaries(texts, texts | st.integers(-(10**6), 10**6) | st.booleans(), max_size=4), st.data())
def test_a_call_arrives_whole_however_it_is_cut(arguments: dict[str, Any], data: st.DataObject) -> None:
    raw = json.dumps({"tool": "read_file", "args": arguments}, ensure_ascii=False)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=8)))
    text, fragments, finish = decode([raw[a:b] for a, b in itertools.pairwise([0, *cuts, len(raw)])])
    assert text == ""
    assert finish.reason == "tool_calls"
    assert finish.calls == (
        ToolCall("c1", "read_file", arguments, json.dumps(arguments, ensure_ascii=False)),
    )
    assert json.dumps(arguments, ensure_ascii=False).startswith(fragments.strip())


def test_text_is_shown_as_it_comes() -> None:
    decoder = ReplyDecoder(lambda: "c")
    said = [decoder.feed(piece) for piece in ('{"answer": ', '"Hel', "lo\\", 'n"', "}")]
    assert said == [None, TextDelta("Hel"), TextDelta("lo"), TextDelta("\n"), None]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ('{"answer": "\\ud83d\\ude00"}', "😀"),
        ('{"answer": "\\ud83d"}', "\ufffd"),
        ('{"answer": "\\ude00x"}', "\ufffdx"),
        ('{"answer": "\\ud83d\\n"}', "\ufffd\n"),
        ('{"answer": "a\\\\"}', "a\\"),
        ('{"answer": "\\\\u0041"}', "\\u0041"),
        ('{"answer":"tight"}', "tight"),
    ],
)
def test_escapes(raw: str, text: str) -> None:
    assert decode([raw])[0] == text
    assert decode(list(raw))[0] == text


@pytest.mark.parametrize(
    "raw",
    [
        '{"tool": "write_file", "args": {"path": "a", "content": "half',
        '{"tool": "write_file", "args": {"path": "a"}',
    ],
)
def test_a_call_that_was_cut_off_never_runs(raw: str) -> None:
    finish = decode([raw], "length")[2]
    assert finish.reason == "length"
    assert not finish.runnable
    assert finish.calls[0].arguments is None
    assert finish.calls[0].cut


def test_an_answer_that_was_cut_off_keeps_its_text() -> None:
    assert decode(['{"answer": "The first of'], "length") == ("The first of", "", Finish("length"))


@pytest.mark.parametrize(
    ("raw", "text", "name"),
    [
        ("Just words.", "Just words.", None),
        ('Sure: {"tool": "now", "args": {}}', "", "now"),
        ('```json\n{"answer": "yes"}\n```', "yes", None),
        ('{"tool": 5}', '{"tool": 5}', None),
        ("", "", None),
    ],
)
def test_without_the_grammar_a_call_is_still_found(raw: str, text: str, name: str | None) -> None:
    said, _, finish = decode([raw])
    assert said == text
    assert [call.name for call in finish.calls] == ([name] if name else [])


@given(st.text(alphabet='{}[]":,\\ \nabcu0123dD8toolargsnwe', max_size=60))
def test_anything_at_all_ends_in_exactly_one_finish(raw: str) -> None:
    for reason in ("stop", "length", "incomplete"):
        assert isinstance(decode(list(raw), reason)[2], Finish)


@pytest.mark.parametrize(
    ("text", "round_"),
    [
        ("And then the fish swam on. " * 8, True),
        ("Once: " + "\\n- another item of the list" * 9, True),
        ("And then the fish swam on. " * 7, False),
        ("-" * 4000, False),
        ("| --- | --- | --- | --- |" * 20, False),
        ("".join(f"line {n} of the file\\n" for n in range(200)), False),
        ("", False),
    ],
)
def test_a_reply_that_only_repeats_itself_is_noticed(text: str, round_: bool) -> None:
    assert goes_round(text) == round_
    decoder = ReplyDecoder(lambda: "c")
    decoder.feed('{"answer": "' + text)
    assert decoder.goes_round == round_
