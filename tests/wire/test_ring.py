"""The event ring with real readers: whole, in order, counted. Nobody but limnos writes, nothing stops it."""

import os
from collections.abc import Iterator
from struct import pack

import pytest

from limnos.wire.ring import ALL, HEADER, SLOT_SIZE, Batch, EventRing, Record, RingReader
from limnos.wire.segments import create
from tests.wire.racing import race
from tests.wire.starting import held, started, with_ring


@pytest.fixture
def ring() -> Iterator[EventRing]:
    made = EventRing()
    yield made
    made.close()


def reading(ring: EventRing, mask: int = ALL, after: int | None = None) -> RingReader:
    """A reader in this process, as a plugin would have it."""
    known = ring.add_reader(mask)
    descriptors = os.dup(ring.descriptor), os.dup(known.eventfd)
    start = known.after if after is None else after
    return RingReader.attach(*descriptors, ring.slots, ring.slot_size, start)


def test_a_plugin_hears_events_in_order_with_kind_and_blocks(ring: EventRing) -> None:
    ring.publish(1, b"before it came")
    with with_ring("listen", ring, ring.add_reader()) as plugin:
        plugin.hear()
        assert ring.publish(7, "häppened".encode()) == 2
        ring.publish(255, b"b-0123", is_block=True)
        ring.publish(0, b"")

        heard: list[object] = []
        while len(heard) < 3:
            woken, missed, records = plugin.ask(None)
            assert (woken, missed) == (True, 0)
            heard += records
    assert heard == [[2, 7, "häppened", False], [3, 255, "b-0123", True], [4, 0, "", False]]


def test_a_plugin_sleeps_until_something_happens(ring: EventRing) -> None:
    with with_ring("listen", ring, ring.add_reader()) as plugin:
        plugin.hear()
        assert plugin.ask(ALL) == [False, 0, []]
        plugin.say(None)
        ring.publish(1, b"now")

        assert plugin.hear() == [True, 0, [[1, 1, "now", False]]]
        assert plugin.ask(ALL) == [False, 0, []]


def test_one_reader_takes_nothing_from_another(ring: EventRing) -> None:
    with (
        with_ring("listen", ring, ring.add_reader()) as first,
        with_ring("listen", ring, ring.add_reader()) as second,
    ):
        first.hear(), second.hear()
        ring.publish(1, b"for both")

        assert first.ask(None) == second.ask(None) == [True, 0, [[1, 1, "for both", False]]]


def test_a_reader_is_told_how_many_it_missed(ring: EventRing) -> None:
    reader = reading(ring)
    try:
        for number in range(1, 20_001):
            ring.publish(1, b"%d" % number)
        batch = reader.read()

        assert batch.missed + len(batch.records) == 20_000
        assert len(batch.records) >= ring.slots * 3 // 4
        assert [record.payload for record in batch.records] == [
            b"%d" % number for number in range(batch.missed + 1, 20_001)
        ]
        assert reader.read() == Batch([], 0)
    finally:
        reader.close()


def test_a_reader_that_names_no_start_is_told_what_is_gone() -> None:
    ring = EventRing(16)
    for number in range(1, 101):
        ring.publish(1, b"%d" % number)
    reader = reading(ring, after=0)
    batch = reader.read()

    assert batch.missed + len(batch.records) == 100
    assert batch.records[-1] == Record(100, 1, b"100", False)
    reader.close()
    ring.close()


def test_a_mask_wakes_for_its_kinds_and_leaves_out_the_others(ring: EventRing) -> None:
    with with_ring("listen", ring, ring.add_reader(1 << 5 | 1 << 200)) as plugin:
        plugin.hear()
        plugin.ask(1 << 5 | 1 << 200)
        plugin.say(None)
        for number in range(100):
            ring.publish(4, b"%d" % number)
        ring.publish(200, b"wanted")

        woken, missed, records = plugin.hear()
        if not records:  # it had looked before it slept, and saw the others only
            woken, missed, records = plugin.ask(None)
        assert (woken, missed, records) == (True, 0, [[101, 200, "wanted", False]])


def test_a_reader_that_wants_little_is_woken_before_the_ring_has_gone_round() -> None:
    ring = EventRing(64)
    reader = reading(ring, mask=1 << 9)
    reader.mask = 1 << 9
    reading_all = 0
    for number in range(1, 1_001):
        ring.publish(1, b"")
        if number % 16 == 0:
            assert reader.wait(0)
            assert reader.read() == Batch([], 0)
            reading_all += 1

    assert reading_all == 62
    reader.close()
    ring.close()


def test_payloads_up_to_a_slot_fit_and_larger_ones_are_refused(ring: EventRing) -> None:
    reader = reading(ring)
    largest = os.urandom(SLOT_SIZE - HEADER)
    ring.publish(1, largest)

    assert reader.read().records == [Record(1, 1, largest, False)]
    with pytest.raises(ValueError, match="241 bytes are more than a slot takes: 240"):
        ring.publish(1, bytes(241))
    for kind in (-1, 256):
        with pytest.raises(ValueError, match="a kind is 0 to 255"):
            ring.publish(kind, b"")
    assert ring.publish(1, b"") == 2
    reader.close()


def test_a_plugin_cannot_change_what_others_read(ring: EventRing) -> None:
    ring.publish(1, b"true")
    size = ring.slots * ring.slot_size
    before = os.pread(ring.descriptor, size, 0)
    with started("attack", [ring.descriptor], descriptor=ring.descriptor, size=size) as plugin:
        assert plugin.hear() == []

    assert os.pread(ring.descriptor, size, 0) == before
    ring.publish(1, b"still written")
    assert b"still written" in os.pread(ring.descriptor, size, 0)


def test_no_reader_can_make_the_writer_wait(ring: EventRing) -> None:
    known = ring.add_reader()
    descriptors = {"eventfd": known.eventfd}
    with started("clog", [known.eventfd], **descriptors) as plugin:
        assert plugin.hear() is False
        for _ in range(100):
            ring.publish(1, b"on and on")

    assert ring.newest == 100


def test_a_dead_reader_hinders_nobody_and_leaves_nothing_open(ring: EventRing) -> None:
    before = held()
    first, second = ring.add_reader(), ring.add_reader()
    with with_ring("listen", ring, first) as dying, with_ring("listen", ring, second) as living:
        dying.hear(), living.hear()
        dying.kill()
        for _ in range(1_000):
            ring.publish(1, b"x")
        ring.remove_reader(first)
        ring.remove_reader(first)
        ring.publish(2, b"last")

        heard: list[list[object]] = []
        while not heard or heard[-1][1] != 2:
            woken, missed, records = living.ask(None)
            assert (woken, missed) == (True, 0)
            heard += records
    ring.remove_reader(second)

    assert len(heard) == 1_001
    assert held() == before


def test_closing_gives_every_descriptor_and_mapping_back() -> None:
    before = held()
    for _ in range(20):
        ring = EventRing(64)
        reader = reading(ring)
        ring.add_reader()
        reader.close()
        reader.close()
        ring.close()
        ring.close()

    assert held() == before


def test_an_event_is_delivered_only_when_its_slot_is_whole() -> None:
    """Every state of a slot in the middle of being written, from the front and from the back."""
    ring = EventRing(16)
    for number in range(1, 21):
        ring.publish(3, b"old %d " % number + bytes(number * 5))
    rows = os.pread(ring.descriptor, 16 * SLOT_SIZE, 0)
    ring.publish(9, b"new and longer than what was there " * 5)
    whole = os.pread(ring.descriptor, 16 * SLOT_SIZE, 0)
    start, end = 21 % 16 * SLOT_SIZE, (21 % 16 + 1) * SLOT_SIZE
    segment = create("half", 16 * SLOT_SIZE)
    wake = ring.add_reader()
    segment.memory[: 16 * SLOT_SIZE] = rows
    reader = RingReader.attach(os.dup(segment.descriptor), os.dup(wake.eventfd), 16, SLOT_SIZE, after=20)
    try:
        for cut in range(start, end):
            for half in (whole[start:cut] + rows[cut:end], rows[start:cut] + whole[cut:end]):
                segment.memory[start:end] = half
                if half[: HEADER + 175] != whole[start : start + HEADER + 175]:
                    assert reader.read() == Batch([], 0)
        segment.memory[start:end] = whole[start:end]
        assert reader.wait(0)
        assert reader.read().records == [Record(21, 9, b"new and longer than what was there " * 5, False)]
    finally:
        reader.close()
        segment.close()
        ring.close()


def test_a_torn_number_is_no_overrun() -> None:
    ring = EventRing(16)
    ring.publish(1, b"first")
    segment = create("half", 16 * SLOT_SIZE)
    segment.memory[: 16 * SLOT_SIZE] = os.pread(ring.descriptor, 16 * SLOT_SIZE, 0)
    reader = RingReader.attach(os.dup(segment.descriptor), os.dup(ring.add_reader().eventfd), 16, SLOT_SIZE)
    try:
        segment.memory[SLOT_SIZE + 8 : SLOT_SIZE + 16] = pack("<Q", 2**40 + 1)
        assert reader.wait(0)  # something is being written: look again
        assert reader.read() == Batch([], 0)
        segment.memory[SLOT_SIZE + 8 : SLOT_SIZE + 16] = pack("<Q", 1)
        assert reader.read() == Batch([Record(1, 1, b"first", False)], 0)
    finally:
        reader.close()
        segment.close()
        ring.close()


@pytest.mark.parametrize(("slots", "size"), [(8, 256), (64, 256), (4_096, 256), (8, 4_096)])
def test_racing_readers_have_every_event_whole_and_in_order_or_counted(slots: int, size: int) -> None:
    race(slots, size, 40_000, 3)


def test_readers_that_keep_up_miss_nothing() -> None:
    assert race(8_192, SLOT_SIZE, 8_000, 2) == [8_000, 8_000]


@pytest.mark.parametrize(("slots", "size"), [(0, 256), (7, 256), (8, 32), (8, 100), (8, 131_072)])
def test_a_shape_that_is_none_is_refused(slots: int, size: int) -> None:
    with pytest.raises(ValueError, match="at least 8 slots"):
        EventRing(slots, size)
