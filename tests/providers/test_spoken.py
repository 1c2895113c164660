"""Calls that come as text: local models whose template is not their server's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.model import Finish, TextDelta
from limnos.providers.assemble import ReplyAssembler

CALL = '{"name": "list_dir", "arguments": {"path": "."}}'
TOOLS = ("list_dir", "read_file")


def reply(pieces: list[str], finish: str = "stop") -> tuple[str, Finish]:
    """The text and the end of a reply that came in these pieces."""
    assembler = ReplyAssembler(TOOLS)
    deltas = []
    for piece in pieces:
        deltas += assembler.feed({"choices": [{"index": 0, "delta": {"content": piece}}]})
    deltas += assembler.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    deltas += assembler.finish()
    text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    return text, next(delta for delta in deltas if isinstance(delta, Finish))


@pytest.mark.parametrize(
    "said",
    [
        CALL,
        f"  {CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        '{"arguments": {"path": "."}, "name": "list_dir"}',
        '{"name": "list_dir", "parameters": {"path": "."}}',
        '{\n  "name": "list_dir",\n  "arguments": "{\\"path\\": \\".\\"}"\n}',
    ],
)
def test_a_whole_answer_that_is_a_call_is_one(said: str) -> None:
    text, end = reply(list(said))

    assert text == ""
    assert [(call.name, dict(call.arguments or {})) for call in end.calls] == [("list_dir", {"path": "."})]
    assert end.runnable


@pytest.mark.parametrize(
    "said", [f"<tool_call>{CALL}</tool_call>\n<tool_call>{CALL}</tool_call>", f"{CALL}\n{CALL}\n"]
)
def test_several_calls_are_all_calls(said: str) -> None:
    _, end = reply([said])

    assert len(end.calls) == 2
    assert len({call.id for call in end.calls}) == 2


@pytest.mark.parametrize(
    "said",
    [
        f"I would call {CALL}",
        f"{CALL} is how.",
        '{"name": "rm_rf", "arguments": {}}',
        '{"name": "list_dir", "arguments": {}, "note": "an example"}',
        '{"name": "list_dir", "arguments": [1]}',
        '{"name": "Ada", "age": 36}',
        '```python\nprint({"name": 1})\n```',
        '{"result": [1, 2, 3]}',
        f"```json\n{CALL}\n```\nThis is an example.",
        "",
        "{",
        "```",
    ],
)
def test_everything_else_stays_text_to_the_letter(said: str) -> None:
    text, end = reply([said])

    assert text == said
    assert end.calls == ()


def test_a_call_cut_at_the_token_limit_stays_text() -> None:
    text, end = reply([CALL], finish="length")

    assert (text, end.calls) == (CALL, ())


@given(st.text(max_size=60), st.integers(1, 7))
def test_no_text_is_lost_however_it_is_cut(said: str, size: int) -> None:
    pieces = [said[start : start + size] for start in range(0, len(said), size)]
    text, end = reply(pieces)

    assert end.calls == ()
    assert text == said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
