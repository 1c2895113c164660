"""The body of a reply: a stream of events, or one JSON object where a server does not stream."""

from collections.abc import Iterator

from limnos.egress.client import BODY_BYTES
from limnos.kernel.model import Delta
from limnos.providers.assemble import ReplyAssembler
from limnos.providers.chunks import values
from limnos.providers.sse import EVENT_BYTES, EventTooLongError, ServerEvent, SseDecoder

END_MARK = "[DONE]"
_LEADING = b"\xef\xbb\xbf \t\r\n"


class ReplyBody:
    """Feeds the bytes of a body to `reply`. What the first byte says counts, not the content type."""

    def __init__(self, reply: ReplyAssembler) -> None:
        self._reply = reply
        self._events = SseDecoder()
        self._json: bytearray | None = None
        self._known = False
        self.ended = False
        self.events = 0

    def feed(self, chunk: bytes) -> Iterator[Delta]:
        """The deltas that `chunk` completes; nothing counts after the end mark."""
        if not self._known and chunk.lstrip(_LEADING):
            self._known = True
            self._json = bytearray() if chunk.lstrip(_LEADING).startswith(b"{") else None
        if self._json is not None:
            self._json += chunk
            self.events += 1
            if len(self._json) > BODY_BYTES:
                self._refuse(f"a body of more than {BODY_BYTES} bytes")
            return
        yield from self._take_all(self._events.feed(chunk))

    def close(self) -> Iterator[Delta]:
        """The deltas that the end of the body completes."""
        if self._json is not None:
            text = self._json.decode("utf-8-sig", "replace")
            chunks = list(values(text))
            for value in chunks:
                yield from self._reply.feed(value)
            if len(chunks) == 1:
                self._reply.end_mark()  # one whole message needs no finish reason to be whole
            return
        yield from self._take_all(self._events.close())

    def _take_all(self, events: Iterator[ServerEvent]) -> Iterator[Delta]:
        try:
            for event in events:
                yield from self._take(event)
        except EventTooLongError:
            self._refuse(f"an event of more than {EVENT_BYTES} bytes")

    def _refuse(self, what: str) -> None:
        """Give up on the body and keep nothing of the rest."""
        self._reply.fail(f"the provider sent {what}")
        self._events, self._json, self.ended = SseDecoder(), None, True

    def _take(self, event: ServerEvent) -> Iterator[Delta]:
        if self.ended:
            return
        self.events += 1
        *lines, last = event.data.rstrip().split("\n")
        self.ended = last.strip() == END_MARK
        data = "\n".join(lines) if self.ended else event.data
        for value in values(data):
            yield from self._reply.feed(value)
        if event.error and not self._reply.failed:
            self._reply.fail(data.strip())
        if self.ended:
            self._reply.end_mark()
