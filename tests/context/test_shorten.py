"""Cutting texts to fit."""

from hypothesis import given
from hypothesis import strategies as st

from limnos.context.shorten import CannotShrinkError, head_and_tail, shorten, text_to_count
from limnos.kernel.messages import Media, Message, Reasoning, Text, ToolCall, ToolResult, tool_message, user

SIZES = st.lists(st.sampled_from([0, 5, 50, 500, 5_000]), min_size=1, max_size=6)


def tokens(message: Message) -> int:
    return len(text_to_count(message)) // 4 + 4


def test_a_short_text_stays_as_it_is() -> None:
    assert head_and_tail("short", 5) == "short"


def test_a_long_text_keeps_head_and_tail_and_says_how_much_is_missing() -> None:
    cut = head_and_tail("a" * 500 + "b" * 500, 300)

    assert cut.startswith("a" * 200)
    assert cut.endswith("b" * 100)
    assert "700 characters left out" in cut


@given(SIZES, st.integers(0, 6_000))
def test_what_comes_out_fits_or_nothing_more_can_be_cut(sizes: list[int], room: int) -> None:
    messages = [user("x" * size) for size in sizes]
    try:
        cut = shorten(messages, room, tokens)
    except CannotShrinkError as error:
        assert error.tokens > room  # noqa: PT017 - the other outcome is as right
        return

    assert sum(map(tokens, cut)) <= room
    assert [message.role for message in cut] == [message.role for message in messages]
    assert cut == messages or sum(map(tokens, messages)) > room


def test_only_the_longest_texts_are_cut() -> None:
    short, long = user("a question"), user("x" * 10_000)

    cut = shorten([short, long], 500, tokens)

    assert cut[0] is short or cut[0] == short
    assert cut[1] != long


def test_everything_but_text_stays() -> None:
    thought, picture = Reasoning("t" * 900, "sig", "m"), Media("b1", "image/png", 5)
    call = ToolCall("c1", "f", {"n": 5, "flag": True, "deep": {"list": ["x" * 9_000, None]}}, "raw")
    broken = ToolCall("c2", "g", None, "{", "cut", True)
    result = tool_message(ToolResult("c1", "failed", (Text("y" * 9_000),)))

    head, answer = shorten(
        [Message("assistant", (thought, picture, Text("z" * 9_000)), (call, broken)), result], 800, tokens
    )

    assert head.parts[:2] == (thought, picture)
    assert head.calls[1] == broken
    assert head.calls[0].arguments is not None
    assert head.calls[0].arguments["n"] == 5
    assert head.calls[0].arguments["flag"] is True
    assert head.calls[0].arguments["deep"]["list"][1] is None
    assert len(head.calls[0].arguments["deep"]["list"][0]) < 1_500
    assert answer.result is not None
    assert (answer.result.call_id, answer.result.outcome) == ("c1", "failed")
