"""Server-sent events, decoded as they arrive. Only CR, LF and CRLF end a line, whatever Unicode says."""

import re
from collections.abc import Iterator
from typing import NamedTuple

EVENT_BYTES = 1024 * 1024

_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


class EventTooLongError(ValueError):
    """A line or an event of more than `EVENT_BYTES` bytes."""


class ServerEvent(NamedTuple):
    """The data of one event, its lines joined by LF; `error` when the event calls itself that."""

    data: str
    error: bool = False


class SseDecoder:
    """Turns reads of any size into events, in order.

    Bytes are decoded line by line, so a character may be cut anywhere; bytes that are no UTF-8 become
    U+FFFD. Comments, the fields `id` and `retry`, and events without data are left out.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._searched = 0
        self._after_cr = False
        self._first = True
        self._data: list[str] = []
        self._size = 0
        self._error = False

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that `chunk` completes. Raises EventTooLongError."""
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        self._rest += chunk
        while (line := self._next_line()) is not None:
            yield from self._take(line)

    def close(self) -> Iterator[ServerEvent]:
        """The event that the end of the body completes: the last line needs no line end."""
        line, self._rest = bytes(self._rest), bytearray()
        if line:
            yield from self._take(line)
        yield from self._take(b"")

    def _next_line(self) -> bytes | None:
        found = _END.search(self._rest, self._searched)
        if found is None:
            self._searched = len(self._rest)
            if self._searched > EVENT_BYTES:
                raise EventTooLongError
            return None
        self._after_cr = found.group() == b"\r" and found.end() == len(self._rest)
        line = bytes(self._rest[: found.start()])
        del self._rest[: found.end()]
        self._searched = 0
        return line

    def _take(self, line: bytes) -> Iterator[ServerEvent]:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            if any(self._data):
                yield ServerEvent("\n".join(self._data), self._error)
            self._data, self._size, self._error = [], 0, False
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._error = value.strip() == b"error"
        elif name in (b"data", b"error"):
            self._error = self._error or name == b"error"
            self._size += len(value)
            if self._size > EVENT_BYTES:
                raise EventTooLongError
            self._data.append(value.decode("utf-8", "replace"))
