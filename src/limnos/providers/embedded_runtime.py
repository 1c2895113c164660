"""The host's side of the embedded model's child: started when needed, watched, restarted within bounds."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from limnos.kernel.errors import ContextOverflowError, ModelUnavailableError
from limnos.process.child import Child, start
from limnos.process.spawn import ChildSpec, Limits, StartError

Frame: TypeAlias = dict[str, Any]

RESTARTS = 3
RESTART_WINDOW_S = 300.0
HANG_S = 120.0
LOAD_S = 300.0
CANCEL_S = 10.0

# What each kind of frame holds beside its type; of others only the type is read.
_FIELDS: Mapping[str, Mapping[str, type]] = {
    "ready": {"isolated": bool},
    "refused": {"detail": str},
    "text": {"text": str},
    "end": {"reason": str, "prompt_tokens": int, "completion_tokens": int, "cached_tokens": int},
    "error": {"detail": str},
    "overflow": {"tokens": int, "room": int},
}
CPU_FLAGS = ("avx2", "fma", "bmi2", "f16c")
# For libraries, thread stacks and reserved arenas; resident memory stays far below.
_ADDRESS_SPACE_SPARE = 6 << 30


@dataclass(frozen=True, slots=True)
class RuntimeSpec:
    """What to load and where. `states` is a folder for what a later start can go on from.

    `memory` is the bytes that running the model needs, `context` tokens; `threads` 0 means as many as are
    idle when it starts.
    """

    name: str
    file: Path
    states: Path
    memory: int
    context: int
    threads: int


@dataclass(frozen=True, slots=True)
class Job:
    """One completion: the prompt in trusted and other pieces, a GBNF grammar or "" for none."""

    prompt: Sequence[tuple[str, bool]]
    grammar: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 1


class Runtime:
    """The model's process. One request at a time; others wait their turn."""

    def __init__(self, spec: RuntimeSpec, monotonic: Callable[[], float], hang_s: float = HANG_S) -> None:
        self._spec = spec
        self._monotonic = monotonic
        self._hang_s = hang_s
        self._turn = asyncio.Lock()
        self._child: Child | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._starts: deque[float] = deque(maxlen=RESTARTS + 1)
        self._number = 0
        self.isolated = False

    @property
    def pid(self) -> int | None:
        """The process that runs the model now, if one does."""
        return self._child.pid if self._child is not None and self._child.running else None

    async def warm(self, prompt: str, state: str) -> Frame:
        """Have `prompt` in the cache, from the file `state` in the folder of states if it is there.

        Returns the `end` frame. Raises `ModelUnavailableError`.
        """
        async with self._turn:
            child = await self._ready()
            frame = {"op": "warm", "prompt": [(prompt, True)], "state": state}
            async with aclosing(self._ask(child, frame)) as frames:
                return [frame async for frame in frames][-1]

    async def generate(self, job: Job) -> AsyncGenerator[Frame]:
        """Yield `progress` and `text` frames and then one `end` frame.

        Closing it stops the model. Raises `ModelUnavailableError` and `ContextOverflowError`.
        """
        async with self._turn:
            child = await self._ready()
            frame = {
                "op": "generate",
                "prompt": job.prompt,
                "grammar": job.grammar,
                "max_tokens": job.max_tokens,
                "temperature": job.temperature,
                "seed": job.seed,
            }
            async with aclosing(self._ask(child, frame)) as frames:
                async for answer in frames:
                    yield answer

    async def close(self) -> None:
        """End the process. The next request starts another one."""
        child, self._child = self._child, None
        if child is not None:
            await child.stop(grace_s=0)
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    async def _ask(self, child: Child, frame: Frame) -> AsyncGenerator[Frame]:
        self._number += 1
        number = self._number
        finished = False
        try:
            await self._send(child, {**frame, "id": number})
            while not finished:
                answer = await self._receive(child, number)
                finished = answer["type"] in ("end", "error", "overflow")
                yield self._checked(answer)
        finally:
            if not finished:
                await self._cancel(child, number)

    def _checked(self, frame: Frame) -> Frame:
        if frame["type"] == "overflow":
            raise ContextOverflowError(
                f"the prompt has {frame['tokens']} tokens, {frame['room']} fit beside the reply",
                "shorten the conversation, or start a new one",
                self._spec.context,
            )
        if frame["type"] == "error":
            raise ModelUnavailableError(f"{self._spec.name} failed: {frame['detail']}", "try again")
        return frame

    async def _cancel(self, child: Child, number: int) -> None:
        """Stop the request in the child; a child that does not stop in time is ended."""
        if not child.running or child is not self._child:
            return
        try:
            async with asyncio.timeout(CANCEL_S):
                await self._send(child, {"op": "cancel", "id": number})
                while (await self._receive(child, number))["type"] not in ("end", "error"):
                    pass
        except (TimeoutError, ModelUnavailableError):
            await self.close()

    async def _ready(self) -> Child:
        if self._child is not None and self._child.running:
            return self._child
        await self.close()
        self._count_start()
        require_cpu(self._spec.name)
        try:
            return await self._load()
        except (ModelUnavailableError, asyncio.CancelledError):
            await self.close()
            raise

    async def _load(self) -> Child:
        self._folder = tempfile.TemporaryDirectory(prefix="limnos-model-")
        try:
            self._spec.states.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelUnavailableError(
                f"{self._spec.states} cannot be made: {error.strerror}", "make the folder above it writable"
            ) from None
        try:
            child = self._child = await start(self._child_spec())
        except StartError as error:
            raise ModelUnavailableError(error.what, error.fix) from error
        await self._send(child, self._order(self._folder.name))
        try:
            async with asyncio.timeout(LOAD_S):
                frame = await self._line(child)
        except TimeoutError:
            frame = None
        if frame is None or frame["type"] != "ready":
            raise self._refused(await child.stop(grace_s=0), frame)
        self.isolated = frame["isolated"]
        return child

    def _count_start(self) -> None:
        now = self._monotonic()
        if len(self._starts) > RESTARTS and now - self._starts[0] < RESTART_WINDOW_S:
            wait = RESTART_WINDOW_S - (now - self._starts[0])
            raise ModelUnavailableError(
                f"{self._spec.name} ended {len(self._starts)} times in 5 minutes",
                f"limnos model verify {self._spec.name}, or wait {wait:.0f} s",
            )
        self._starts.append(now)

    def _child_spec(self) -> ChildSpec:
        return ChildSpec(
            (sys.executable, "-I", "-m", "limnos.providers.embedded_child"),
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
            limits=Limits(memory=self._spec.memory + _ADDRESS_SPACE_SPARE, files=256),
        )

    def _order(self, folder: str) -> Frame:
        return {
            "model": str(self._spec.file),
            "context": self._spec.context,
            "threads": self._spec.threads or usable_threads(),
            "folder": folder,
            "states": str(self._spec.states),
        }

    def _refused(self, status: int, frame: Frame | None) -> ModelUnavailableError:
        fix = f"limnos model verify {self._spec.name}"
        if status == -signal.SIGILL:
            return ModelUnavailableError(
                f"{self._spec.name} cannot run: the processor lacks an instruction it needs",
                "use a server instead: limnos config set providers.NAME.base_url ADDRESS",
            )
        if status == -signal.SIGKILL and frame is None:
            return ModelUnavailableError(
                f"{self._spec.name} was ended while it was loaded: out of memory or time",
                "free memory, or: limnos model use qwen2.5-coder-0.5b",
            )
        why = frame.get("detail", frame["type"]) if frame else f"the loader ended with {_ending(status)}"
        return ModelUnavailableError(f"model file refused: {why}", fix)

    async def _send(self, child: Child, frame: Frame) -> None:
        try:
            child.writer.write(json.dumps(frame).encode() + b"\n")
            await child.writer.drain()
        except ConnectionError as error:
            raise await self._died(child) from error

    async def _receive(self, child: Child, number: int) -> Frame:
        """The next frame of request `number`; what is left of an earlier one is dropped."""
        while True:
            try:
                async with asyncio.timeout(self._hang_s):
                    frame = await self._line(child)
            except TimeoutError:
                await self.close()
                raise ModelUnavailableError(
                    f"{self._spec.name} said nothing for {self._hang_s:.0f} s and was ended", "try again"
                ) from None
            if frame is None:
                raise await self._died(child)
            if frame.get("id") == number:
                return frame

    async def _line(self, child: Child) -> Frame | None:
        """The next frame; None at the end. Raises ModelUnavailableError when the child talks rubbish."""
        try:
            line = await child.reader.readline()
            if not line.endswith(b"\n"):
                return None
            return parse_frame(line)
        except ConnectionError:
            return None
        except ValueError:
            await self.close()
            raise ModelUnavailableError(
                f"{self._spec.name} said what nobody understands and was ended",
                f"try again; if it stays: limnos model verify {self._spec.name}",
            ) from None

    async def _died(self, child: Child) -> ModelUnavailableError:
        status = await child.stop(grace_s=0)
        await self.close()
        return ModelUnavailableError(
            f"{self._spec.name} ended with {_ending(status)}", "try again: it is started anew"
        )


def parse_frame(line: bytes) -> Frame:
    """The frame of one line. Raises ValueError when a field is missing or of another kind."""
    try:
        value = json.loads(line)
    except RecursionError:
        raise ValueError("too deep") from None
    frame = cast("Frame", value) if isinstance(value, dict) else {}
    kind = frame.get("type")
    fields = _FIELDS.get(kind, {}) if isinstance(kind, str) else None
    if fields is None or not all(isinstance(frame.get(name), wanted) for name, wanted in fields.items()):
        raise ValueError("no frame")
    return frame


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"status {status}"


def missing_cpu_flags(cpuinfo: str) -> list[str]:
    """The instructions that the runtime needs and `cpuinfo` (the text of /proc/cpuinfo) does not list.

    Empty where the file has no such list (other processors, other systems).
    """
    line = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    have = line.partition(":")[2].split()
    return [flag.upper() for flag in CPU_FLAGS if flag not in have] if have else []


def require_cpu(name: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raises `ModelUnavailableError` when this processor cannot run the model."""
    try:
        missing = missing_cpu_flags(cpuinfo.read_text())
    except OSError:
        return
    if missing:
        raise ModelUnavailableError(
            f"{name} cannot run here: the processor has no {', '.join(missing)}",
            "use a server instead: limnos config set providers.NAME.base_url ADDRESS",
        )


def usable_threads() -> int:
    """A thread for each core that this process may use and nobody else does now; 1 to 8.

    Measured on two cores: beside another busy process two threads wait for each other in spin locks and take
    ten times as long as one. More than 8 do not make a small model faster.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, cores - round(os.getloadavg()[0])))
