"""The plugin's end of the wire: frames in and out, answers to its own requests, payloads in shared memory."""

import os
import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Any, Final

from limnos.wire import frames
from limnos.wire.frames import Failure, Frame, FrameError, Notification, Reply, Request

_READ = 1 << 18
ANSWER_S: Final = 60.0
_GONE: Final = Failure(None, frames.UNAVAILABLE, "limnos closed the wire")


class RefusedError(Exception):
    """limnos did not do what the plugin asked; `code` as in `limnos.wire.frames`."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


class Wire:
    """Frames over two descriptors. Any thread may send; one thread reads."""

    def __init__(self, read: int, write: int) -> None:
        self._read = read
        self._write = write
        self._sending = threading.Lock()
        self._waiting: dict[int, SimpleQueue[Reply | Failure]] = {}
        self._next = 0
        self._closed = False

    def frames(self) -> Iterator[Frame]:
        """What comes in, until the other side closes. What cannot be read is answered and skipped."""
        rest = b""
        while data := os.read(self._read, _READ):
            *lines, rest = (rest + data).split(b"\n")
            for line in filter(None, lines):
                try:
                    frame = frames.decode(line)
                except FrameError as error:
                    self.send(Failure(None, error.code, str(error)))
                    continue
                if not self._settle(frame):
                    yield frame

    def close(self) -> None:
        """Nobody is there any more: what is sent from now on goes nowhere, and who waits is refused."""
        with self._sending:
            self._closed = True
            waiting = tuple(self._waiting.values())
        for box in waiting:
            box.put(_GONE)

    def send(self, frame: Frame) -> None:
        """Write one frame. Raises FrameError for one that is too large or no JSON."""
        line = frames.encode(frame)
        with self._sending:
            while line and not self._closed:
                line = line[os.write(self._write, line) :]

    def notify(self, method: str, **params: Any) -> None:
        """Tell limnos something."""
        self.send(Notification(method, params))

    def request(self, method: str, *, timeout_s: float = ANSWER_S, **params: Any) -> Any:
        """Ask limnos and wait for the answer. Raises RefusedError; not from the thread that reads."""
        box: SimpleQueue[Reply | Failure] = SimpleQueue()
        with self._sending:
            self._next += 1
            number = self._next
            self._waiting[number] = box
            if self._closed:
                box.put(_GONE)
        try:
            self.send(Request(number, method, params))
            answer = box.get(timeout=timeout_s)
        except Empty:
            raise RefusedError(frames.UNAVAILABLE, f"no answer to {method} in {timeout_s:g} s") from None
        finally:
            self._waiting.pop(number, None)
        if isinstance(answer, Failure):
            raise RefusedError(answer.code, answer.message, answer.hint)
        return answer.result

    def _settle(self, frame: Frame) -> bool:
        """Hand an answer to who waits for it; False for what is no answer."""
        if not isinstance(frame, Reply | Failure):
            return False
        box = self._waiting.get(frame.id) if isinstance(frame.id, int) else None
        if box is not None:
            box.put(frame)
        return True
