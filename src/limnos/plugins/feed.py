"""What happens in limnos, for the plugins that hear it: each event into the ring, for those who asked."""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from limnos.kernel.seams import Blobs
from limnos.wire.ring import HEADER, EventRing, Registration

CAPABILITY: Final = "events"


class Feed:
    """The ring of one kernel, made when the first plugin that may hear events is started.

    `kinds` numbers the types of events from 1 on, in the same order in every limnos of one version.
    """

    def __init__(self, blobs: Blobs, types: Iterable[str]) -> None:
        self.kinds: Mapping[str, int] = {name: number for number, name in enumerate(types, 1)}
        self._blobs = blobs
        self._ring: EventRing | None = None
        self._readers: list[Registration] = []

    def join(self) -> tuple[EventRing, Registration]:
        """The ring with one more reader, who hears nothing before it subscribes. Raises SharedMemoryError."""
        if self._ring is None:
            self._ring = EventRing()
        reader = self._ring.add_reader(0)
        self._readers.append(reader)
        return self._ring, reader

    def subscribe(self, reader: Registration, types: Iterable[str]) -> dict[str, int]:
        """Let `reader` hear these types, or all when none is named; returns their numbers.

        Raises KeyError for a type that does not exist.
        """
        wanted = {name: self.kinds[name] for name in types} or dict(self.kinds)
        reader.mask = sum(1 << number for number in wanted.values())
        return wanted

    def leave(self, reader: Registration) -> None:
        """The reader's process has ended."""
        self._readers.remove(reader)
        if self._ring is not None:
            self._ring.remove_reader(reader)

    def publish(self, kind: str, record: Callable[[], Mapping[str, Any]]) -> None:
        """Tell who listens of an event; costs next to nothing when nobody does."""
        number = self.kinds.get(kind, 0)
        bit = 1 << number
        if self._ring is None or not any(reader.mask & bit for reader in self._readers):
            return
        data = json.dumps(record(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if len(data) <= self._ring.slot_size - HEADER:
            self._ring.publish(number, data)
        else:
            self._ring.publish(number, self._blobs.put(data).encode(), is_block=True)

    def close(self) -> None:
        """Give the ring back; every process that reads it has ended."""
        if self._ring is not None:
            self._ring.close()
            self._ring = None
