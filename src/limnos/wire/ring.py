"""The event ring: what happens in limnos, for plugins that hear everything; only limnos can write it.

A ring is a number of slots of one size and nothing else; event n, counted from 1, lies in slot n modulo their
number. A slot is little-endian: CRC-32 of what follows up to the end of the payload (4 bytes), length of the
payload (2), kind (1), flags (1), number of the event (8), payload. docs/protocol/shared-memory.md says how to
read one in any language.

The writer never waits for a reader. A slow reader is told how many events it missed.
"""

import os
import select
import time
import zlib
from struct import Struct
from typing import Final, NamedTuple

from limnos.wire import segments
from limnos.wire.segments import Segment, SharedMemoryError

SLOTS: Final = 8_192
SLOT_SIZE: Final = 256  # bytes, of which HEADER are not payload
HEADER: Final = 16
KINDS: Final = 256
ALL: Final = (1 << KINDS) - 1  # the mask of every kind: bit n stands for kind n

_CHECKED: Final = Struct("<HBBQ")  # length, kind, flags, number: what the CRC starts with
_CRC: Final = Struct("<I")
_BLOCK: Final = 1  # flag: the payload is the id of a block
_ONE: Final = (1).to_bytes(8, "little")  # what an eventfd takes, in the order of this machine
_TRIES: Final = 64  # reads of a slot that is just being written, before the reader sleeps a little
_TORN_S: Final = 0.001
_NOTHING: Final = bytes(HEADER)


class Record(NamedTuple):
    """One event. `payload` is its bytes, or the UTF-8 id of the block that has them when `is_block`."""

    number: int
    kind: int
    payload: bytes
    is_block: bool


class Batch(NamedTuple):
    """What came since the last read, oldest first; `missed` events of any kind were overwritten before."""

    records: list[Record]
    missed: int


class Registration:
    """One reader as the writer knows it. `mask` may be changed at any time.

    The plugin inherits `eventfd`, which becomes readable when there is something new, and is told `after`.
    """

    __slots__ = ("_wake", "after", "eventfd", "mask", "seen")

    def __init__(self, mask: int, after: int) -> None:
        self.mask = mask
        self.after = after  # the newest event when the reader came
        self.seen = after  # the newest event that it was woken for
        # A descriptor's O_NONBLOCK belongs to everybody who has it: a plugin that cleared it and filled the
        # eventfd would stop the writer. So the eventfd stays here; what the plugin gets is an epoll on it.
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        poll = select.epoll()
        try:
            poll.register(self._wake, select.EPOLLIN | select.EPOLLET)
            self.eventfd = os.dup(poll.fileno())
        except OSError:
            os.close(self._wake)
            raise
        finally:
            poll.close()

    def wake(self, number: int) -> None:
        """Tell the reader that events up to `number` are there; never waits."""
        self.seen = number
        os.write(self._wake, _ONE)

    def close(self) -> None:
        """Close both descriptors; again is fine."""
        if self._wake >= 0:
            os.close(self._wake)
            os.close(self.eventfd)
        self._wake = self.eventfd = -1


class EventRing:
    """The writer, in limnos, used by one thread."""

    def __init__(self, slots: int = SLOTS, slot_size: int = SLOT_SIZE) -> None:
        """Raises SharedMemoryError where there are no eventfd and memory that others can only read."""
        _check_shape(slots, slot_size)
        if not hasattr(os, "eventfd") or not hasattr(select, "epoll"):
            raise SharedMemoryError("there is no event ring here: it needs eventfd and epoll", "use Linux")
        self._segment = segments.create("events", slots * slot_size, frozen=True)
        self._readers: list[Registration] = []
        self.slots = slots
        self.slot_size = slot_size
        self.newest = 0  # the number of the last event

    @property
    def descriptor(self) -> int:
        """What plugins inherit, for reading only; -1 after `close`."""
        return self._segment.descriptor

    def publish(self, kind: int, payload: bytes, is_block: bool = False) -> int:
        """Put an event into the ring, wake who wants it, and return its number. Never waits.

        Raises ValueError for a kind that is none, or a payload that belongs into a block.
        """
        size = len(payload)
        if not 0 <= kind < KINDS:
            raise ValueError(f"a kind is 0 to {KINDS - 1}, not {kind}")
        if size > self.slot_size - HEADER:
            raise ValueError(f"{size:,} bytes are more than a slot takes: {self.slot_size - HEADER}")
        number = self.newest + 1
        checked = _CHECKED.pack(size, kind, _BLOCK if is_block else 0, number) + payload
        start = number % self.slots * self.slot_size
        self._segment.memory[start : start + HEADER + size] = _CRC.pack(zlib.crc32(checked)) + checked
        self.newest = number
        for reader in self._readers:
            # one that wants little is woken for the rest too, well before the ring has gone round
            if reader.mask >> kind & 1 or (number - reader.seen) * 4 >= self.slots:
                reader.wake(number)
        return number

    def add_reader(self, mask: int = ALL) -> Registration:
        """A new reader that is woken for the kinds in `mask`; it hears what is published from now on."""
        reader = Registration(mask, self.newest)
        self._readers.append(reader)
        return reader

    def remove_reader(self, reader: Registration) -> None:
        """Forget a reader, alive or dead, and close its descriptors; again is fine."""
        self._readers = [one for one in self._readers if one is not reader]
        reader.close()

    def close(self) -> None:
        """Remove all readers and the memory; again is fine."""
        for reader in self._readers:
            reader.close()
        self._readers = []
        self._segment.close()


class RingReader:
    """A reader in a plugin's process, used by one thread. It has its own place in the ring."""

    def __init__(self, segment: Segment, poll: select.epoll, shape: tuple[int, int], after: int) -> None:
        self.mask = ALL  # kinds that are not in it are left out of batches
        self._segment = segment
        self._poll = poll
        self._slots, self._slot_size = shape
        self._next = after + 1
        self._torn = False

    @classmethod
    def attach(
        cls, descriptor: int, eventfd: int, slots: int = SLOTS, slot_size: int = SLOT_SIZE, after: int = 0
    ) -> "RingReader":
        """Read the ring behind two inherited descriptors, which are the reader's from then on.

        It starts with the event behind `after`; with 0 at the oldest one, as missed counts what is gone.
        Raises SharedMemoryError when the ring is smaller than said.
        """
        _check_shape(slots, slot_size)
        segment = segments.attach(descriptor, slots * slot_size, writable=False)
        os.set_inheritable(eventfd, False)
        return cls(segment, select.epoll.fromfd(eventfd), (slots, slot_size), after)

    def fileno(self) -> int:
        """For a selector or an event loop: readable when there is something new; `read` clears it."""
        return self._poll.fileno()

    def wait(self, timeout_s: float) -> bool:
        """Whether there is something to read, at most `timeout_s` seconds from now.

        True may turn out to be nothing: an event that is just being written, or none of the mask.
        """
        end = time.monotonic() + timeout_s
        while not self._waiting():
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._poll.poll(left)
        if self._torn:
            self._poll.poll(min(_TORN_S, timeout_s))
        return True

    def read(self) -> Batch:
        """Everything new, without waiting: at most one round of the ring, then read again."""
        self._poll.poll(0)
        records: list[Record] = []
        missed = 0
        for _ in range(self._slots):
            record = self._at(self._next)
            if record is None or record.number < self._next:
                break
            if record.number > self._next:
                missed += self._skip(record.number)
                continue
            self._next += 1
            if self.mask >> record.kind & 1:
                records.append(record)
        return Batch(records, missed)

    def close(self) -> None:
        """Unmap the ring and close the descriptors; again is fine."""
        self._poll.close()
        self._segment.close()

    def _waiting(self) -> bool:
        record = self._at(self._next)
        return self._torn or (record is not None and record.number >= self._next)

    def _skip(self, found: int) -> int:
        """Go on behind an overrun, an eighth of the ring ahead of the writer; returns how many are lost."""
        to = found - self._slots + 1 + self._slots // 8
        missed = to - self._next
        self._next = to
        return missed

    def _at(self, number: int) -> Record | None:
        """What is whole in the slot of an event, which may be an older or a newer one; None for nothing.

        The header is read before and after the rest. What differs, or has another CRC, is being written.
        """
        memory, size = self._segment.memory, self._slot_size
        start = number % self._slots * size
        self._torn = False
        for _ in range(_TRIES):
            before = memory[start : start + HEADER]
            if before == _NOTHING:
                return None
            slot = memory[start : start + size]
            record = _record(slot)
            if record is not None and before == slot[:HEADER] == memory[start : start + HEADER]:
                return record
        self._torn = True
        return None


def _record(slot: bytes) -> Record | None:
    """The event in a copy of a slot, or None when its CRC is wrong."""
    length, kind, flags, number = _CHECKED.unpack_from(slot, _CRC.size)
    end = HEADER + length
    if end > len(slot) or zlib.crc32(slot[_CRC.size : end]) != _CRC.unpack_from(slot)[0]:
        return None
    return Record(number, kind, slot[HEADER:end], bool(flags & _BLOCK))


def _check_shape(slots: int, slot_size: int) -> None:
    if slots < 8 or not 64 <= slot_size <= 65_536 or slot_size % 8:
        raise ValueError("a ring has at least 8 slots of 64 to 65,536 bytes, in steps of 8")
