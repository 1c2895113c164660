"""The arena's model and the ring's race, for longer."""

import pytest

from tests.wire.arena_model import Fuzz
from tests.wire.racing import race

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
def test_thirty_million_events_reach_racing_readers_whole_or_are_counted(slots: int) -> None:
    race(slots, 4_096, 30_000_000, 3)
