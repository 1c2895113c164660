"""Shared segments: their size is fixed, frozen ones are for reading, and where there are none it is said."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from limnos.wire import segments
from limnos.wire.segments import SharedMemoryError
from tests.wire.starting import held, started


def test_a_plugin_cannot_resize_a_segment_but_can_write_it() -> None:
    segment = segments.create("arena", 100_000)
    try:
        with started(
            "attack", [segment.descriptor], descriptor=segment.descriptor, size=segment.size
        ) as plugin:
            worked = plugin.hear()

        assert set(worked) == {"write", "map", "protect", "punch", "reopen", "reopen and map", "send"}
        assert os.fstat(segment.descriptor).st_size == segment.size == 102_400
        assert len(bytes(segment.memory)) == segment.size
    finally:
        segment.close()


def test_nobody_but_its_maker_can_change_a_frozen_segment() -> None:
    segment = segments.create("events", 8_192, frozen=True)
    try:
        segment.memory[:4] = b"ours"
        with started(
            "attack", [segment.descriptor], descriptor=segment.descriptor, size=segment.size
        ) as plugin:
            worked = plugin.hear()

        assert worked == []
        assert segment.memory[:4] == b"ours"
        assert os.pread(segment.descriptor, 4, 0) == b"ours"
    finally:
        segment.close()


def test_memory_is_taken_when_it_is_touched() -> None:
    segment = segments.create("arena", 256 * 1024 * 1024)
    try:
        before = os.fstat(segment.descriptor).st_blocks
        segment.memory[0] = 1

        assert before == 0
        assert 0 < os.fstat(segment.descriptor).st_blocks * 512 <= 4 * 1024 * 1024
    finally:
        segment.close()


def test_a_segment_is_not_inherited_unless_it_is_passed() -> None:
    segment = segments.create("arena", 4_096)
    try:
        assert not os.get_inheritable(segment.descriptor)
    finally:
        segment.close()


@pytest.mark.parametrize("frozen", [False, True])
def test_the_objects_of_macos_are_shared_too(frozen: bool) -> None:
    before = held()
    segment = segments.posix_object("arena", 8_192, frozen)
    other = segments.attach(os.dup(segment.descriptor), 8_192, writable=not frozen)
    try:
        segment.memory[:4] = b"ours"
        assert other.memory[:4] == b"ours"
        assert not [name for name in os.listdir("/dev/shm") if name.startswith(f"limnos-{os.getpid()}-")]
        if frozen:
            with pytest.raises(OSError, match=r"not permitted|Bad file"):
                os.pwrite(segment.descriptor, b"mine", 0)
    finally:
        other.close()
        segment.close()

    assert held() == before


def test_a_system_without_shared_memory_is_told_so() -> None:
    with pytest.raises(SharedMemoryError, match="there is no shared memory on plan9") as caught:
        segments.create("arena", 4_096, system="plan9")

    assert "Linux" in caught.value.fix


def test_a_size_that_the_system_refuses_is_an_error_that_names_it() -> None:
    before = held()

    with pytest.raises(SharedMemoryError, match="9,223,372,036,854,771,712 bytes for arena"):
        segments.create("arena", 2**63 - 4_096)

    assert held() == before


@pytest.mark.parametrize("size", [0, -1, True, 1.5])
def test_a_size_that_is_none_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="at least one byte"):
        segments.create("arena", size)


def test_a_descriptor_with_less_memory_than_announced_is_refused(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.write_bytes(bytes(100))
    descriptor = os.open(small, os.O_RDWR)
    try:
        with pytest.raises(SharedMemoryError, match="has 100 bytes of memory, 4,096 were announced"):
            segments.attach(descriptor, 4_096)
    finally:
        os.close(descriptor)


def test_a_segment_can_be_made_frozen_by_a_process_that_keeps_its_memory_private() -> None:
    program = (
        "from limnos.process.privacy import keep_private\n"
        "from limnos.wire import segments\n"
        "said = keep_private()\n"
        "segments.create('events', 4096, frozen=True).close()\n"
        "print('made', said)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.startswith("made")


def test_the_wire_stays_light_to_import() -> None:
    program = (
        "import sys, json\n"
        "before = set(sys.modules)\n"
        "import limnos.wire.arena, limnos.wire.ring\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    slow = {"asyncio", "numpy", "json", "ctypes", "multiprocessing", "selectors", "socket", "_posixshmem"}
    assert not slow & set(json.loads(done.stdout))
