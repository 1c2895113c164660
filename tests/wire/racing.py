"""A writer as fast as it can be, and readers in processes of their own that lag behind it."""

from contextlib import ExitStack

from limnos.wire.ring import EventRing
from tests.wire.plugin import STOP, payload
from tests.wire.starting import with_ring


def race(slots: int, slot_size: int, events: int, readers: int) -> list[int]:
    """Publish so many events; returns how many each reader had whole.

    Raises AssertionError when one came torn or out of order, or delivered and missed are not all of them.
    """
    ring = EventRing(slots, slot_size)
    try:
        with ExitStack() as stack:
            plugins = [
                stack.enter_context(
                    with_ring("race", ring, ring.add_reader(), slots=slots, slot_size=slot_size)
                )
                for _ in range(readers)
            ]
            assert [plugin.hear() for plugin in plugins] == ["ready"] * readers
            for number in range(1, events):
                ring.publish(number % STOP, payload(number, slot_size))
            ring.publish(STOP, payload(events, slot_size))
            told = [plugin.hear() for plugin in plugins]
    finally:
        ring.close()
    assert [one["wrong"] for one in told] == [[]] * readers
    assert [one["delivered"] + one["missed"] for one in told] == [events] * readers
    assert [one["last"] for one in told] == [events] * readers
    return [one["delivered"] for one in told]
