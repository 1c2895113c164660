"""The arena: one shared segment per plugin for payloads that are too large for a frame.

limnos leases ranges of it and copies out of them; a plugin maps it (`Window`) or uses plain `pread` and
`pwrite` on the descriptor, as a shell does with `/proc/self/fd/N`. A range on the wire is a JSON object
`{"lease": 7, "offset": 4096, "size": 100}`, its offset counted from the start of the arena. The plugin can
change its arena at any moment, so limnos copies the bytes first and then looks at the copy alone.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from limnos.kernel.errors import LimnosError
from limnos.wire import segments
from limnos.wire.segments import PAGE

SIZE: Final = 16 * 1024 * 1024  # bytes of an arena when the plugin's manifest does not say
WAYS: Final = ("mmap", "rw")  # what a plugin answers as `arena` when it uses it: mapped, or read and written

Data: TypeAlias = bytes | bytearray | memoryview
Range: TypeAlias = Mapping[str, int]


class ArenaFull(LimnosError):  # noqa: N818  nothing is wrong: it is full
    """No free range is large enough. `asked`, `free` and `largest` (the largest free range) in bytes."""

    def __init__(self, asked: int, free: int, largest: int) -> None:
        super().__init__(
            f"the arena has no {asked:,} bytes in one piece: {free:,} are free, {largest:,} of them together",
            "release ranges sooner, or raise limits.arena of the plugin",
        )
        self.asked = asked
        self.free = free
        self.largest = largest


class RangeError(ValueError):
    """A range, a lease or a size that is not what limnos gave; the message says which and why."""


class Lease(NamedTuple):
    """A range that belongs to one payload until it is released. `offset` and `size` in bytes."""

    id: int
    offset: int
    size: int

    def at(self, size: int | None = None) -> dict[str, int]:
        """The range as it goes over the wire; with `size` only its first bytes."""
        return {"lease": self.id, "offset": self.offset, "size": self.size if size is None else size}


class Arena:
    """limnos' side. Used by one thread. `size` in bytes, rounded up to pages; memory is taken on touch.

    The mapping stays where it is until `close`. Lease ids grow and are never used again.
    """

    def __init__(self, size: int = SIZE) -> None:
        """Raises SharedMemoryError where there is no shared memory."""
        self._segment = segments.create("arena", size)
        self.size = self._segment.size
        self.leased = 0  # bytes, each lease rounded up to pages
        self._leases: dict[int, Lease] = {}
        self._newest = 0
        self._free = _Free(self.size)

    @property
    def descriptor(self) -> int:
        """What the plugin inherits; -1 after `close`."""
        return self._segment.descriptor

    def lease(self, size: int) -> Lease:
        """Reserve `size` bytes, at a page border. Raises ArenaFull, or RangeError for what is no size."""
        if type(size) is not int or size <= 0:
            raise RangeError(f"a lease has at least one byte, not {_shown(size)}")
        if self.descriptor < 0:
            raise RangeError("the arena is closed")
        room = _pages(size)
        offset = self._free.take(room)
        if offset is None:
            raise ArenaFull(size, self._free.total, self._free.largest)
        self._newest += 1
        self.leased += room
        lease = self._leases[self._newest] = Lease(self._newest, offset, size)
        return lease

    def write(self, lease: Lease, data: Data) -> dict[str, int]:
        """Put data at the start of a lease and return its range. Raises RangeError when it does not fit."""
        view = memoryview(data).cast("B")
        if self._leases.get(lease.id) != lease:
            raise RangeError(f"lease {_shown(lease.id)} is not given, or was released")
        if len(view) > lease.size:
            raise RangeError(f"{len(view):,} bytes do not fit into the {lease.size:,} of lease {lease.id}")
        self._segment.memory[lease.offset : lease.offset + len(view)] = view
        return lease.at(len(view))

    def copy(self, at: Range) -> bytes:
        """The bytes of a range within one lease, which nobody can change any more.

        Raises RangeError for anything that is not within a lease that is held; nothing is read then.
        """
        number, offset, size = _fields(at)
        lease = self._leases.get(number)
        if lease is None:
            raise RangeError(f"lease {_shown(number)} is not given, or was released")
        if offset < lease.offset or size < 0 or offset + size > lease.offset + lease.size:
            raise RangeError(
                f"{_shown(size)} bytes at {_shown(offset)} are not within lease {lease.id},"
                f" which has {lease.size:,} at {lease.offset:,}"
            )
        return self._segment.memory[offset : offset + size]

    def release(self, number: int) -> bool:
        """Give a lease back by its id; false when it is not given, which may happen after a crash."""
        lease = self._leases.pop(number, None) if type(number) is int else None
        if lease is None:
            return False
        room = _pages(lease.size)
        self.leased -= room
        self._free.give(lease.offset, room)
        return True

    def release_all(self) -> int:
        """Give every lease back, as when the plugin ended. Returns how many there were."""
        count = len(self._leases)
        self._leases.clear()
        self.leased = 0
        self._free = _Free(self.size)
        return count

    def close(self) -> None:
        """Give everything back to the system; call it when the plugin's process is gone. Again is fine."""
        self.release_all()
        self._segment.close()


class Window:
    """A plugin's side of its arena, in Python."""

    def __init__(self, segment: segments.Segment) -> None:
        self._segment = segment
        self._view = memoryview(segment.memory)

    @classmethod
    def attach(cls, descriptor: int, size: int) -> "Window":
        """Map the arena behind the inherited descriptor, which is the window's from then on.

        Raises SharedMemoryError when it has fewer than `size` bytes.
        """
        return cls(segments.attach(descriptor, size))

    def read(self, at: Range) -> bytes:
        """A copy of the bytes of a range. Raises RangeError when it is not within the arena."""
        offset, size = self._within(at)
        return self._segment.memory[offset : offset + size]

    def write(self, at: Range, data: Data) -> dict[str, int]:
        """Put data at the start of a range and return the range that it fills: what goes into the answer.

        Raises RangeError when it does not fit.
        """
        offset, size = self._within(at)
        view = memoryview(data).cast("B")
        if len(view) > size:
            raise RangeError(f"{len(view):,} bytes do not fit into a range of {size:,}")
        self._segment.memory[offset : offset + len(view)] = view
        return {**at, "size": len(view)}

    def view(self, at: Range) -> memoryview:
        """The range itself, to fill in place, for example with `file.readinto`. Release it when done."""
        offset, size = self._within(at)
        return self._view[offset : offset + size]

    def close(self) -> None:
        """Unmap the arena; views that are still held stay valid, and keep the memory. Again is fine."""
        self._view.release()
        self._segment.close()

    def _within(self, at: Range) -> tuple[int, int]:
        _, offset, size = _fields(at)
        if offset < 0 or size < 0 or offset + size > self._segment.size:
            raise RangeError(f"{_shown(size)} bytes at {_shown(offset)} are not within the arena")
        return offset, size


class _Free:
    """The free ranges of an arena, neighbours joined: best fit, found by bisection."""

    def __init__(self, size: int) -> None:
        self.total = size
        self._by_size = [(size, 0)]
        self._by_start = {0: size}
        self._by_end = {size: 0}

    @property
    def largest(self) -> int:
        """Bytes of the largest range."""
        return self._by_size[-1][0] if self._by_size else 0

    def take(self, size: int) -> int | None:
        """The start of a range that is taken from the smallest one it fits into."""
        index = bisect_left(self._by_size, (size, 0))
        if index == len(self._by_size):
            return None
        found, start = self._by_size[index]
        self._remove(start, found)
        if found > size:
            self._add(start + size, found - size)
        return start

    def give(self, start: int, size: int) -> None:
        """Make a range free again."""
        before = self._by_end.get(start)
        after = self._by_start.get(start + size)
        if after is not None:
            self._remove(start + size, after)
            size += after
        if before is not None:
            self._remove(before, start - before)
            start, size = before, size + start - before
        self._add(start, size)

    def _add(self, start: int, size: int) -> None:
        insort(self._by_size, (size, start))
        self._by_start[start] = size
        self._by_end[start + size] = start
        self.total += size

    def _remove(self, start: int, size: int) -> None:
        del self._by_size[bisect_left(self._by_size, (size, start))]
        del self._by_start[start]
        del self._by_end[start + size]
        self.total -= size


def _fields(at: Range) -> tuple[int, int, int]:
    """Lease, offset and size; the range comes from a plugin, so it may hold anything."""
    if not isinstance(at, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RangeError("a range is an object with lease, offset and size")
    number, offset, size = (_whole(at, name) for name in ("lease", "offset", "size"))
    return number, offset, size


def _whole(at: Range, name: str) -> int:
    value = at.get(name)
    if type(value) is not int:
        raise RangeError(f"{name} of a range is a whole number, not {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """A value for a message; a number may have more digits than Python turns into text."""
    if type(value) is int and value.bit_length() > 64:
        return f"a number of {value.bit_length():,} bits"
    return repr(value)[:60]


def _pages(size: int) -> int:
    return -(-size // PAGE) * PAGE
