"""The arena's model and the ring's race, for longer."""

import pytest

from limnos.wire.ring import EventRing
from tests.wire.arena_model import Fuzz
from tests.wire.plugin import payload
from tests.wire.racing import race
from tests.wire.starting import started

SEED = 31_000


@pytest.mark.soak
@pytest.mark.parametrize("number", range(4))
def test_a_hundred_thousand_steps_agree_with_the_model(number: int) -> None:
    Fuzz(SEED + number).run(25_000)


@pytest.mark.torture
@pytest.mark.parametrize("number", range(10))
def test_a_million_steps_agree_with_the_model(number: int) -> None:
    Fuzz(SEED + 100 + number).run(100_000)


@pytest.mark.soak
@pytest.mark.parametrize("slots", [8, 64, 8_192])
def test_a_million_events_reach_racing_readers_whole_or_are_counted(slots: int) -> None:
    race(slots, 256, 1_000_000, 3)


@pytest.mark.torture
@pytest.mark.parametrize("slots", [8, 64])
def test_ten_million_events_reach_racing_readers_whole_or_are_counted(slots: int) -> None:
    race(slots, 4_096, 10_000_000, 3)


@pytest.mark.soak
def test_a_reader_that_checks_nothing_gets_torn_slots() -> None:
    ring = EventRing(8, 4_096)
    known = {"ring": ring.descriptor, "slots": 8, "slot_size": 4_096, "events": 500_000}
    try:
        with started("trust", [ring.descriptor], **known) as plugin:
            assert plugin.hear() == "ready"
            for number in range(1, 500_001):
                ring.publish(1, payload(number, 4_096))
            assert plugin.hear() > 0
    finally:
        ring.close()
