"""Configured values are taken out of events, wherever they stand in them."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.kernel.conversation import Conversation
from limnos.kernel.event_records import to_record
from limnos.kernel.events import (
    CallFinished,
    CallProposed,
    Event,
    ReplyFinished,
    TextDelta,
    TurnStarted,
)
from limnos.kernel.masking import NOTE, Mask
from limnos.kernel.stream import EventStream

VALUE = "correct-horse-Lake-5taple"
OTHER = "correct-horse"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.just(f"a{VALUE}b"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.just(VALUE), inner, max_size=3)
    ),
    max_leaves=8,
)


class Kept:
    """A log that holds what it is given."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event, *, durable: bool = False) -> None:
        self.events.append(event)


class Noon:
    def now(self) -> str:
        return "2026-11-30T12:00:00Z"

    def monotonic(self) -> float:
        return 0.0


def proposed(arguments: Any, raw: str = "") -> CallProposed:
    return CallProposed(call="c1", tool="run_command", arguments=arguments, raw=raw)


@pytest.mark.parametrize(
    "event",
    [
        TextDelta(text=f"it is {VALUE}."),
        proposed(
            {"command": f"curl -H {VALUE}", "deep": [{"a": [VALUE, 1, None]}]}, raw=f'{{"a":"{VALUE}"}}'
        ),
        proposed({VALUE: 1}),
        CallFinished(
            call="c1", tool="t", outcome="failed", text=VALUE * 3, error={"reason": "failed", "detail": VALUE}
        ),
        ReplyFinished(text="", reasoning=[{"text": VALUE, "signature": None, "model": "m"}]),
    ],
)
def test_a_value_is_hidden_in_every_text_of_an_event(event: Event) -> None:
    masked = Mask([VALUE])(event)

    assert VALUE not in str(to_record(masked))
    assert NOTE in str(to_record(masked))


@given(JSON)
def test_nothing_but_the_value_changes(arguments: Any) -> None:
    event = proposed({"x": arguments})
    masked = Mask([VALUE])(event)

    assert VALUE not in repr(masked)
    if VALUE not in repr(event):
        assert masked is event
    assert Mask([VALUE])(masked) is masked


def test_the_longest_of_several_values_is_hidden_whole() -> None:
    assert Mask([OTHER, VALUE]).text(f"{VALUE} {OTHER}") == f"{NOTE} {NOTE}"


def test_without_values_every_event_passes_as_it_is() -> None:
    event = TextDelta(text=VALUE)

    assert Mask([])(event) is event
    assert Mask([""])(event) is event


def test_neither_log_nor_listener_nor_conversation_get_a_value() -> None:
    log, heard, conversation = Kept(), list[Event](), Conversation()
    stream = EventStream("s1", log, Noon(), conversation, Mask([VALUE]))
    stream.listen(heard.append)
    stream.emit(
        TurnStarted(
            input=f"my key is {VALUE}",
            source="t",
            principal="p",
            client_id="m",
            persona="p",
            model="m",
            mode="ask",
        ).changed(turn=1)
    )
    stream.emit(proposed({"command": f"echo {VALUE}"}))
    stream.emit(CallFinished(call="c1", tool="run_command", outcome="done", text=f"{VALUE}\n"))
    returned = stream.tell(TextDelta(text=VALUE))

    units = [message for unit in conversation.units for message in unit.messages()]
    assert VALUE not in f"{log.events} {heard} {units} {conversation.title} {returned}"
    assert len(heard) == 4


def test_without_a_mask_they_do_get_it() -> None:
    log = Kept()
    EventStream("s1", log, Noon(), Conversation()).emit(proposed({"command": VALUE}))

    assert VALUE in str(log.events)


def test_a_look_at_an_ordinary_event_is_quick() -> None:
    masking = Mask(f"value-number-{number}-of-35" for number in range(35))
    event = proposed({"command": "git status --short && ls -la src", "path": "a/b"}, raw="git status --short")

    def seconds() -> float:
        began = time.perf_counter()
        for _ in range(1000):
            masking(event)
        return time.perf_counter() - began

    assert min(seconds() for _ in range(5)) / 1000 < 20e-6
