"""A plugin's process for the tests of shared memory: does one job with what it inherited, says JSON lines.

usage: python -m tests.wire.plugin JOB ARGUMENTS, a JSON object. It ends when its standard input does.
"""

import ctypes
import fcntl
import hashlib
import json
import mmap
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from struct import Struct
from typing import Any

from limnos.wire.arena import Window
from limnos.wire.ring import RingReader

STOP = 255  # the kind of the last event
PERIOD = 4_093  # payloads of a race repeat; a prime, so that those in one slot differ from round to round
PATIENCE_S = 60.0
HEAD = Struct("<IHBBQ")  # CRC, length, kind, flags, number
_REWRITING = b"ab"


def say(value: object) -> None:
    """One line to the test."""
    print(json.dumps(value), flush=True)


def hear() -> Any:
    """One line from the test; ends the process when there is none."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def answer(arena: int, size: int) -> None:
    """Turn the bytes of every range that comes around, as a tool that answers with as much as it got."""
    window = Window.attach(arena, size)
    while True:
        at, into = hear()
        data = window.read(at)
        say(window.write(into, data[::-1]))


def fill(arena: int, size: int, path: str) -> None:
    """Read a file straight into every range that comes."""
    window = Window.attach(arena, size)
    while True:
        at = hear()
        with window.view(at) as view, open(path, "rb", buffering=0) as file:
            say({**at, "size": file.readinto(view)})


def rewrite(arena: int, size: int, at: dict[str, int]) -> None:
    """Change a range for ever."""
    window = Window.attach(arena, size)
    rows = [bytes([letter]) * at["size"] for letter in _REWRITING]
    say("ready")
    for number in count():
        window.write(at, rows[number % len(rows)])


def attack(descriptor: int, size: int) -> None:
    """Try everything that could change somebody else's bytes or size; says what succeeded."""
    say([name for name, way in attacks(descriptor, size).items() if _works(way)])


def attacks(descriptor: int, size: int) -> dict[str, Callable[[], object]]:
    """Ways to write or resize what is behind a descriptor, each of which raises OSError where it is shut."""
    return {
        "write": lambda: os.pwrite(descriptor, b"mine", 0),
        "map": lambda: mmap.mmap(descriptor, size)[:4],
        "protect": lambda: _protect(descriptor, size),
        "truncate": lambda: os.ftruncate(descriptor, 0),
        "grow": lambda: os.ftruncate(descriptor, size * 2),
        "allocate": lambda: os.posix_fallocate(descriptor, size, 4096),
        "punch": lambda: _punch(descriptor, size),
        "seal": lambda: fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE),
        "reopen": lambda: _again(descriptor, os.O_RDWR, lambda again: os.pwrite(again, b"mine", 0)),
        "reopen and map": lambda: _again(descriptor, os.O_RDWR, lambda again: mmap.mmap(again, size)),
        "reopen and cut": lambda: _again(descriptor, os.O_RDWR | os.O_TRUNC, lambda again: again),
        "reopen and grow": lambda: _again(descriptor, os.O_RDWR, lambda again: os.ftruncate(again, size * 2)),
        "send": lambda: _again(descriptor, os.O_RDWR, _send),
    }


def race(ring: int, eventfd: int, slots: int, slot_size: int, after: int) -> None:
    """Read until the last event; says how many came whole, how many were missed, and what was wrong."""
    reader = RingReader.attach(ring, eventfd, slots, slot_size, after)
    say("ready")
    delivered = missed = last = 0
    wrong: list[str] = []
    while reader.wait(PATIENCE_S):
        records, lost = reader.read()
        missed += lost
        for record in records:
            delivered += 1
            if record.number <= last or record.payload != payload(record.number, slot_size):
                wrong.append(repr(record))
            last = record.number
        if records and records[-1].kind == STOP:
            break
    say({"delivered": delivered, "missed": missed, "last": last, "wrong": wrong[:5]})


def trust(ring: int, slots: int, slot_size: int, events: int) -> None:
    """Copy slots as they are, until the last event; says how many of the copies were torn."""
    memory = mmap.mmap(ring, slots * slot_size, access=mmap.ACCESS_READ)
    say("ready")
    torn = last = 0
    while last != events:
        for start in range(0, slots * slot_size, slot_size):
            slot = memory[start : start + slot_size]
            crc, length, _, _, number = HEAD.unpack_from(slot)
            torn += number > 0 and zlib.crc32(slot[4 : HEAD.size + length]) != crc
            last = max(last, number if number <= events else 0)
    say(torn)


def payload(number: int, slot_size: int) -> bytes:
    """The bytes that event `number` of a race has: every one depends on the number."""
    return _payload(number % PERIOD, slot_size)


@cache
def _payload(number: int, slot_size: int) -> bytes:
    length = number * 7 % (slot_size - 15)
    return (hashlib.blake2b(number.to_bytes(8, "little")).digest() * (length // 64 + 1))[:length]


def listen(ring: int, eventfd: int, after: int) -> None:
    """Say every event, and how many were missed, each time the test asks."""
    reader = RingReader.attach(ring, eventfd, after=after)
    say("ready")
    while True:
        mask = hear()
        reader.mask = mask if mask is not None else reader.mask
        woken = reader.wait(PATIENCE_S if mask is None else 0.0)
        batch = reader.read()
        say(
            [woken, batch.missed, [[r.number, r.kind, r.payload.decode(), r.is_block] for r in batch.records]]
        )


def clog(eventfd: int) -> None:
    """Do to the descriptor that wakes this reader whatever could make its writer wait."""
    fcntl.fcntl(eventfd, fcntl.F_SETFL, fcntl.fcntl(eventfd, fcntl.F_GETFL) & ~os.O_NONBLOCK)
    say(_works(lambda: os.write(eventfd, (2**64 - 2).to_bytes(8, "little"))))
    hear()


def _works(way: Callable[[], object]) -> bool:
    try:
        way()
    except OSError:
        return False
    return True


def _again(descriptor: int, flags: int, way: Callable[[int], object]) -> None:
    with _opened(f"/proc/self/fd/{descriptor}", flags) as again:
        way(again)


@contextmanager
def _opened(path: str, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _send(descriptor: int) -> None:
    with _opened(__file__, os.O_RDONLY) as source:
        os.sendfile(descriptor, source, 0, 100)


def _protect(descriptor: int, size: int) -> None:
    """Map for reading, then ask for the right to write."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    place = library.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if library.mprotect(place, size, mmap.PROT_READ | mmap.PROT_WRITE):
        raise OSError(ctypes.get_errno(), "mprotect")
    ctypes.memset(place, 1, 4)


def _punch(descriptor: int, size: int) -> None:
    """Replace everything by zeros without a write: mode is PUNCH_HOLE and KEEP_SIZE."""
    library = ctypes.CDLL(None, use_errno=True)
    library.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long]
    if library.fallocate(descriptor, 3, 0, size):
        raise OSError(ctypes.get_errno(), "fallocate")


if __name__ == "__main__":
    globals()[sys.argv[1]](**json.loads(sys.argv[2]))
