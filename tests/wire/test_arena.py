"""The arena with real plugins: payloads go both ways, and limnos looks only at its own copy."""

import json
import os
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.wire.arena import Arena, ArenaFull, Lease, RangeError, Window
from tests.wire.arena_model import Fuzz
from tests.wire.starting import held, with_arena

MEGABYTE = 1024 * 1024
HUGE = 10**5_000  # Python refuses to turn so many digits into text


def _named(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name} {_named(one)}" for name, one in value.items())
    return "huge" if type(value) is int and abs(value) == HUGE else repr(value)


@pytest.fixture
def arena() -> Any:
    made = Arena(2 * MEGABYTE)
    yield made
    made.close()


def test_payloads_go_to_a_plugin_and_back(arena: Arena) -> None:
    with with_arena("answer", arena) as plugin:
        for size in (1, 100, 4_096, 70_000, MEGABYTE // 2 + 1):
            sent = os.urandom(size)
            here, there = arena.lease(size), arena.lease(size + 10)
            answer = plugin.ask([arena.write(here, sent), there.at()])

            assert answer == {"lease": there.id, "offset": there.offset, "size": size}
            assert arena.copy(answer) == sent[::-1]
            assert arena.release(here.id)
            assert arena.release(there.id)
    assert arena.leased == 0


def test_a_plugin_reads_a_file_straight_into_a_range(arena: Arena, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(os.urandom(300_000))
    lease = arena.lease(400_000)

    with with_arena("fill", arena, path=str(file)) as plugin:
        assert arena.copy(plugin.ask(lease.at())) == file.read_bytes()


def test_a_shell_uses_the_descriptor_without_mapping_it(arena: Arena) -> None:
    here, there = arena.lease(50_000), arena.lease(50_000)
    sent = os.urandom(50_000)
    arena.write(here, sent)
    path = f"/proc/self/fd/{arena.descriptor}"
    count = here.size // 1_000
    script = (
        f"dd if={path} bs=4096 skip={here.offset // 4096} status=none | head -c {here.size}"
        f" | dd of={path} bs=1000 oflag=seek_bytes seek={there.offset} conv=notrunc status=none"
        f" iflag=fullblock count={count}"
    )
    subprocess.run(["bash", "-ec", script], pass_fds=[arena.descriptor], timeout=60, check=True)

    assert arena.copy(there.at()) == sent


def test_a_full_arena_names_the_sizes_and_the_setting(arena: Arena) -> None:
    first = arena.lease(MEGABYTE)
    middle = arena.lease(4_096)
    arena.lease(MEGABYTE // 2)
    arena.release(first.id)

    with pytest.raises(ArenaFull) as caught:
        arena.lease(MEGABYTE + 1)

    full = caught.value
    free = 2 * MEGABYTE - 4_096 - MEGABYTE // 2
    assert (full.asked, full.free, full.largest) == (MEGABYTE + 1, free, MEGABYTE)
    assert "1,048,577 bytes" in full.what
    assert "1,048,576 of them together" in full.what
    assert "limits.arena" in full.fix
    arena.release(middle.id)
    assert arena.lease(MEGABYTE + 1).size == MEGABYTE + 1


def test_two_leases_never_overlap_and_begin_at_pages(arena: Arena) -> None:
    leases = [arena.lease(size) for size in (1, 4_096, 4_097, 10)]

    assert [lease.offset for lease in leases] == [0, 4_096, 8_192, 16_384]
    assert arena.leased == 20_480


def test_what_was_released_is_neither_copied_nor_written(arena: Arena) -> None:
    lease = arena.lease(100)
    arena.write(lease, b"x" * 100)

    assert arena.release(lease.id) is True
    assert arena.release(lease.id) is False
    with pytest.raises(RangeError, match="lease 1 is not given, or was released"):
        arena.copy(lease.at())
    with pytest.raises(RangeError, match="lease 1 is not given, or was released"):
        arena.write(lease, b"y")


def test_a_plugin_that_writes_after_release_changes_no_copy(arena: Arena) -> None:
    lease = arena.lease(100)
    with with_arena("answer", arena) as plugin:
        arena.write(lease, b"1" * 100)
        copied = arena.copy(plugin.ask([lease.at(), lease.at()]))
        arena.release(lease.id)
        plugin.ask([lease.at(), lease.at()])

        assert copied == b"1" * 100
        assert arena.lease(100).id != lease.id


@pytest.mark.parametrize(
    "change",
    [
        {"offset": 0},
        {"offset": -1},
        {"offset": 4_095},
        {"offset": 4_097},
        {"offset": 2**63},
        {"offset": HUGE},
        {"offset": True},
        {"offset": 4_096.0},
        {"offset": "4096"},
        {"offset": None},
        {"size": 101},
        {"size": -1},
        {"size": 4_096},
        {"size": 2**64},
        {"size": -HUGE},
        {"size": True},
        {"size": float("nan")},
        {"lease": 1},
        {"lease": 0},
        {"lease": -2},
        {"lease": 3},
        {"lease": HUGE},
        {"lease": True},
        {"lease": "2"},
        {"lease": [2]},
    ],
    ids=_named,
)
def test_a_range_that_is_not_within_its_lease_is_refused(arena: Arena, change: dict[str, Any]) -> None:
    neighbour, lease = arena.lease(100), arena.lease(100)
    arena.lease(100)
    arena.release(3)
    assert (neighbour.id, lease.id, lease.offset) == (1, 2, 4_096)

    with pytest.raises(RangeError) as caught:
        arena.copy({**lease.at(), **change})

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("at", [{}, [], None, "lease", {"lease": 1, "offset": 0}, [1, 0, 10]])
def test_what_is_no_range_is_refused(arena: Arena, at: Any) -> None:
    arena.lease(10)

    with pytest.raises(RangeError):
        arena.copy(at)


@pytest.mark.parametrize("size", [0, -1, True, 1.0, "1", None, -HUGE], ids=_named)
def test_what_is_no_size_is_not_leased(arena: Arena, size: Any) -> None:
    with pytest.raises(RangeError, match="at least one byte"):
        arena.lease(size)


def test_a_size_beyond_all_memory_is_full(arena: Arena) -> None:
    with pytest.raises(ArenaFull):
        arena.lease(2**200)


def test_a_part_of_a_lease_may_come_back(arena: Arena) -> None:
    lease = arena.lease(100)
    arena.write(lease, bytes(range(100)))

    assert arena.copy({"lease": lease.id, "offset": lease.offset + 10, "size": 5}) == bytes(range(10, 15))
    assert arena.copy({"lease": lease.id, "offset": lease.offset + 100, "size": 0}) == b""
    assert arena.copy({**lease.at(3), "more": 1}) == b"\0\1\2"


def test_limnos_writes_no_more_than_it_leased(arena: Arena) -> None:
    lease = arena.lease(10)

    with pytest.raises(RangeError, match="11 bytes do not fit into the 10 of lease 1"):
        arena.write(lease, b"x" * 11)
    with pytest.raises(RangeError, match="is not given"):
        arena.write(Lease(lease.id, lease.offset, 20), b"x" * 11)


def test_a_plugin_writes_only_within_its_range_and_its_arena(arena: Arena) -> None:
    lease = arena.lease(10)
    window = Window.attach(os.dup(arena.descriptor), arena.size)
    try:
        with pytest.raises(RangeError, match="11 bytes do not fit into a range of 10"):
            window.write(lease.at(), b"x" * 11)
        for wrong in ({"offset": arena.size}, {"offset": -1}, {"size": -1}, {"size": arena.size + 1}):
            with pytest.raises(RangeError, match="are not within the arena"):
                window.read({**lease.at(), **wrong})
    finally:
        window.close()


def test_a_copy_stays_what_it_was_while_the_plugin_goes_on_writing(arena: Arena) -> None:
    lease = arena.lease(MEGABYTE)
    with with_arena("rewrite", arena, at=lease.at()) as plugin:
        assert plugin.hear() == "ready"
        for _ in range(20):
            copied = arena.copy(lease.at())
            first = zlib.crc32(copied)
            changed = 0
            while changed < 3:
                changed += arena.copy(lease.at()) != copied

            assert zlib.crc32(copied) == first
            assert set(copied) <= {0, *b"ab"}


def test_what_is_checked_in_a_copy_holds_when_it_is_parsed(arena: Arena) -> None:
    texts = [json.dumps({"path": name * 1_000}).encode() for name in ("safe", "evil")]
    lease = arena.lease(len(texts[0]))
    window = Window.attach(os.dup(arena.descriptor), arena.size)
    try:
        window.write(lease.at(), texts[0])
        copied = arena.copy(lease.at())
        window.write(lease.at(), texts[1])

        assert json.loads(copied) == json.loads(texts[0])
    finally:
        window.close()


def test_a_killed_plugin_leaves_an_arena_that_still_works(arena: Arena) -> None:
    lease = arena.lease(MEGABYTE)
    with with_arena("rewrite", arena, at=lease.at()) as plugin:
        plugin.hear()
        plugin.kill()

    assert len(arena.copy(lease.at())) == MEGABYTE
    assert arena.release_all() == 1
    assert arena.leased == 0
    assert arena.lease(2 * MEGABYTE).offset == 0


def test_closing_gives_every_descriptor_and_mapping_back() -> None:
    before = held()
    for _ in range(50):
        arena = Arena(MEGABYTE)
        window = Window.attach(os.dup(arena.descriptor), arena.size)
        window.write(arena.lease(10).at(), b"x")
        window.close()
        window.close()
        arena.close()
        arena.close()

    assert held() == before
    assert arena.descriptor == -1
    with pytest.raises(RangeError, match="the arena is closed"):
        arena.lease(10)


def test_a_view_that_is_still_held_stays_valid_when_its_window_closes(arena: Arena) -> None:
    lease = arena.lease(3)
    window = Window.attach(os.dup(arena.descriptor), arena.size)
    view = window.view(lease.at())
    window.close()
    view[:] = b"yes"

    assert arena.copy(lease.at()) == b"yes"
    with pytest.raises(ValueError, match="closed"):
        window.read(lease.at())
    view.release()


WHOLE = st.one_of(st.integers(), st.integers(-1, 40_000), st.sampled_from([2**31, 2**63, 2**64, -(2**63)]))
ANYTHING = st.one_of(
    WHOLE,
    st.booleans(),
    st.floats(),
    st.sampled_from(["", "1", "x"]),
    st.none(),
    st.lists(st.integers(), max_size=2),
)


@settings(max_examples=500, deadline=None)
@given(at=st.dictionaries(st.sampled_from(["lease", "offset", "size", "more"]), ANYTHING, max_size=4))
def test_only_ranges_within_a_lease_are_ever_copied(at: dict[str, Any]) -> None:
    check_range(at)


@settings(max_examples=500, deadline=None)
@given(lease=st.integers(-1, 5), offset=st.integers(-2, 20_000), size=st.integers(-2, 20_000))
def test_only_whole_numbers_within_a_lease_are_ever_copied(lease: int, offset: int, size: int) -> None:
    check_range({"lease": lease, "offset": offset, "size": size})


def check_range(at: dict[str, Any]) -> None:
    """A copy succeeds exactly when every byte belongs to the lease it names."""
    arena = Arena(32_768)
    try:
        leases = {lease.id: lease for lease in (arena.lease(size) for size in (1, 5_000, 4_096, 100))}
        arena.release(leases.pop(3).id)
        for lease in leases.values():
            arena.write(lease, bytes([lease.id]) * lease.size)
        numbers = [at.get(name) for name in ("lease", "offset", "size")]
        lease = leases.get(at["lease"]) if all(type(number) is int for number in numbers) else None
        bytes_of_it = range(lease.offset, lease.offset + lease.size + 1) if lease else range(0)
        inside = (
            at["size"] >= 0 and {at["offset"], at["offset"] + at["size"]} <= set(bytes_of_it)
            if lease
            else False
        )
        try:
            copied = arena.copy(at)
        except RangeError:
            assert not inside
        else:
            assert inside
            assert copied == bytes([at["lease"]]) * at["size"]
    finally:
        arena.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_five_thousand_leases_and_releases_agree_with_a_plain_model(seed: int) -> None:
    Fuzz(seed).run(5_000)
