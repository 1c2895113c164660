"""A session that is opened again from its events renders what it rendered before, byte for byte."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.context.prefix import repeated
from limnos.kernel.conversation import fold
from limnos.kernel.errors import LimitError
from limnos.kernel.event_records import from_record, to_record
from limnos.kernel.events import Event
from limnos.kernel.units import MemoryShelf
from tests.context.units import changed, check, engine, peeked, session_events

SIZES = st.sampled_from([0, 20, 300, 4_000, 30_000])
TURNS = st.lists(st.tuples(SIZES, st.lists(st.tuples(SIZES, SIZES), max_size=6)), min_size=1, max_size=6)


@given(TURNS, st.sampled_from([500, 2_000, 16_000, 100_000, 1_000_000]))
@settings(max_examples=80, deadline=None)
def test_any_session_opened_again_at_any_point_renders_the_same(
    turns: list[tuple[int, list[tuple[int, int]]]], budget: int
) -> None:
    log: list[Event] = []
    one, _ = engine(budget)
    conversation = fold([], shelf=MemoryShelf())
    for ends, event in session_events(turns):
        log.append(event.changed(seq=len(log) + 1))
        conversation.apply(log[-1])
        if not ends:
            continue
        try:
            request = peeked(one, conversation)
        except LimitError:
            return
        check(request, "question")
        if request.sunk:
            log.append(changed(request, len(log) + 1))
            conversation.apply(log[-1])
            assert peeked(one, conversation).messages == request.messages
        fresh, _ = engine(budget)
        again = fold([reread(old) for old in log], shelf=MemoryShelf())
        assert peeked(fresh, again).messages == request.messages


def test_most_of_a_request_is_the_beginning_of_the_next() -> None:
    one, _ = engine(8_000)
    conversation = fold([], shelf=MemoryShelf())
    requests: list[Any] = []
    seq = 0
    for ends, event in session_events([(50, [(100, 900)] * 60)]):
        seq += 1
        conversation.apply(event.changed(seq=seq))
        if ends:
            requests.append(peeked(one, conversation))
            if requests[-1].sunk:
                seq += 1
                conversation.apply(changed(requests[-1], seq))

    shares = sorted(repeated(((), a.messages), ((), b.messages)) for a, b in pairwise(requests))
    assert shares[len(shares) // 4] == 1.0
    assert one.prefix_reuse is not None
    assert shares[0] < 1.0


@pytest.mark.parametrize("text", ["plain", "\ud83d\ude00 and 词"])
def test_prefix_reuse_is_known_from_the_second_request_on(text: str) -> None:
    one, _ = engine(8_000)
    conversation = fold(
        [event.changed(seq=9) for _, event in session_events([(9, [])], text)], shelf=MemoryShelf()
    )
    peeked(one, conversation)
    assert one.prefix_reuse is None
    peeked(one, conversation)
    assert one.prefix_reuse == 1.0


def reread(event: Event) -> Event:
    """`event` as a log gives it back."""
    return from_record(json.loads(json.dumps(to_record(event))))
