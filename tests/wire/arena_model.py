"""Random work on an arena beside a model of it that is too plain to be wrong: a list of its pages."""

import os
import random

import pytest

from limnos.wire.arena import Arena, ArenaFull, Lease, RangeError, Window
from limnos.wire.segments import PAGE

PAGES = 256


class Fuzz:
    """Leases, writes from both sides, copies, releases, and ranges that are wrong. Prints its seed."""

    def __init__(self, seed: int) -> None:
        print(f"seed {seed}")
        self._random = random.Random(seed)
        self._arena = Arena(PAGES * PAGE)
        self._window = Window.attach(os.dup(self._arena.descriptor), self._arena.size)
        self._pages = [0] * PAGES  # the lease that has each page
        self._held: dict[int, tuple[Lease, bytes]] = {}
        self._gone: list[Lease] = []

    def run(self, steps: int) -> None:
        """So many steps; raises AssertionError at the first that differs from the model."""
        works = (self._lease, self._lease, self._release, self._release_again, self._check, self._wrong)
        try:
            for number in range(steps):
                self._random.choice(works)()
                if number % 5_000 == 4_999:
                    assert self._arena.release_all() == len(self._held)
                    self._held.clear()
                    self._pages = [0] * PAGES
                assert self._arena.leased == (PAGES - self._pages.count(0)) * PAGE
        finally:
            self._window.close()
            self._arena.close()

    def _lease(self) -> None:
        size = self._random.choice((1, self._random.randint(1, 3 * PAGE), self._random.randint(1, 90 * PAGE)))
        room = -(-size // PAGE)
        if self._largest() < room:
            with pytest.raises(ArenaFull) as caught:
                self._arena.lease(size)
            assert caught.value.largest == self._largest() * PAGE
            assert caught.value.free == self._pages.count(0) * PAGE
            return
        lease = self._arena.lease(size)
        first = lease.offset // PAGE
        assert lease.offset % PAGE == 0
        assert lease.size == size
        assert self._pages[first : first + room] == [0] * room
        self._pages[first : first + room] = [lease.id] * room
        data = self._random.randbytes(self._random.randint(0, min(size, 2_000)))
        at = (
            self._arena.write(lease, data)
            if self._random.random() < 0.5
            else self._window.write(lease.at(), data)
        )
        assert at == lease.at(len(data))
        self._held[lease.id] = lease, data

    def _largest(self) -> int:
        text = "".join("." if page == 0 else "x" for page in self._pages)
        return max(len(run) for run in text.split("x"))

    def _release(self) -> None:
        if self._held:
            number = self._random.choice(list(self._held))
            lease, _ = self._held.pop(number)
            assert self._arena.release(number) is True
            self._pages = [0 if page == number else page for page in self._pages]
            self._gone = [*self._gone[-50:], lease]

    def _release_again(self) -> None:
        numbers = [lease.id for lease in self._gone] or [0]
        assert self._arena.release(self._random.choice([*numbers, 0, -1, 10**9, 2**70])) is False

    def _check(self) -> None:
        if self._held:
            lease, data = self._random.choice(list(self._held.values()))
            start = self._random.randint(0, len(data))
            size = self._random.randint(0, len(data) - start)
            at = {"lease": lease.id, "offset": lease.offset + start, "size": size}
            assert self._arena.copy(at) == self._window.read(at) == data[start : start + size]

    def _wrong(self) -> None:
        if not self._held:
            return
        lease, _ = self._random.choice(list(self._held.values()))
        far = self._random.randint(1, PAGES * PAGE)
        wrong = [
            {**lease.at(), "offset": lease.offset - far},
            {**lease.at(), "offset": lease.offset + far},
            {**lease.at(), "size": lease.size + far},
            {**lease.at(), "size": -far},
            {**lease.at(), "lease": lease.id + 10**6},
            *(gone.at() for gone in self._gone[-1:]),
        ]
        with pytest.raises(RangeError):
            self._arena.copy(self._random.choice(wrong))
