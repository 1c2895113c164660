"""Bodies are the same whether something of them was kept from the last request or not."""

from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.messages import Message, Text, ToolCall, user
from limnos.kernel.model import Request, ToolSpec
from limnos.providers.openai_codec import Dialect
from limnos.providers.request_body import BodyWriter

# 1, 1.0 and true are equal in Python, and different in JSON
EQUAL = (1, 1.0, True, 0, False, -0.0)
CALLS = [Message("assistant", (), (ToolCall("c", "t", {"x": [value]}),)) for value in EQUAL]
MESSAGES = st.lists(
    st.sampled_from([user("a"), user("b" * 9), Message("assistant", (Text("c"),)), user("ä"), *CALLS]),
    max_size=6,
)
TOOLS = st.lists(st.sampled_from([ToolSpec("t", "d", {"minimum": value}) for value in EQUAL]), max_size=2)


@given(st.lists(st.tuples(MESSAGES, TOOLS), min_size=1, max_size=5))
def test_what_was_sent_before_changes_nothing_of_a_body(
    requests: list[tuple[list[Message], list[ToolSpec]]],
) -> None:
    writer = BodyWriter(Dialect())
    for messages, tools in requests:
        request = Request(tuple(messages), tuple(tools))
        assert writer.write({"x": 1}, request) == BodyWriter(Dialect()).write({"x": 1}, request)
