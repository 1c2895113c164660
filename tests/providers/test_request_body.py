"""Bodies are the same whether something of them was kept from the last request or not."""

from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.messages import Message, Text, user
from limnos.kernel.model import Request
from limnos.providers.openai_codec import Dialect
from limnos.providers.request_body import BodyWriter

MESSAGES = st.lists(
    st.sampled_from([user("a"), user("b" * 9), Message("assistant", (Text("c"),)), user("ä")]), max_size=6
)


@given(st.lists(MESSAGES, min_size=1, max_size=5))
def test_what_was_sent_before_changes_nothing_of_a_body(requests: list[list[Message]]) -> None:
    writer = BodyWriter(Dialect())
    for messages in requests:
        request = Request(tuple(messages))
        assert writer.write({"x": 1}, request) == BodyWriter(Dialect()).write({"x": 1}, request)
