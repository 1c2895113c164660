"""The pairing check on lists that no provider may see."""

import random

from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.messages import Message, Text, ToolCall, ToolResult, tool_message, user
from limnos.kernel.pairing import GrowingCheck, check_pairing

IDS = st.sampled_from(["a", "b", "c", ""])
HEADS = st.lists(IDS, max_size=3).map(
    lambda ids: Message("assistant", (Text("t"),), tuple(ToolCall(name, "f", {}) for name in ids))
)
RESULTS = IDS.map(lambda name: tool_message(ToolResult(name, "done", (Text(name),))))
MESSAGES = st.lists(st.one_of(HEADS, RESULTS, st.just(user("hi"))), max_size=12)


@given(MESSAGES)
def test_whatever_comes_in_calls_and_results_come_out_paired(messages: list[Message]) -> None:
    repaired = check_pairing(messages).messages

    assert check_pairing(repaired).valid
    assert check_pairing(repaired).messages == repaired
    position = 0
    while position < len(repaired):
        message = repaired[position]
        assert message.role != "tool"
        following = repaired[position + 1 : position + 1 + len(message.calls)]
        assert [one.result.call_id for one in following if one.result] == [call.id for call in message.calls]
        position += 1 + len(message.calls)


@given(st.lists(st.tuples(st.integers(0, 12), MESSAGES), min_size=1, max_size=5))
def test_a_growing_list_is_judged_as_if_it_came_whole(changes: list[tuple[int, list[Message]]]) -> None:
    grown = GrowingCheck()
    messages: tuple[Message, ...] = ()
    for kept, more in changes:
        messages = (*messages[:kept], *more)
        assert grown(messages) == check_pairing(messages)


@given(MESSAGES)
def test_everything_that_is_no_result_stays_in_its_order(messages: list[Message]) -> None:
    repaired = check_pairing(messages).messages

    before = [message.parts for message in messages if message.role != "tool"]
    assert [message.parts for message in repaired if message.role != "tool"] == before


def test_a_right_list_comes_back_as_it_was() -> None:
    messages = [
        user("a"),
        Message("assistant", (), (ToolCall("1", "f", {}),)),
        tool_message(ToolResult("1", "done")),
    ]

    assert check_pairing(messages).messages == tuple(messages)


def test_shuffled_results_find_their_calls() -> None:
    calls = tuple(ToolCall(str(n), "f", {}) for n in range(20))
    results = [tool_message(ToolResult(call.id, "done", (Text(call.id),))) for call in calls]
    random.Random(7).shuffle(results)

    repaired = check_pairing([Message("assistant", (), calls), *results]).messages

    assert [message.result.parts[0] for message in repaired[1:] if message.result] == [
        Text(call.id) for call in calls
    ]
