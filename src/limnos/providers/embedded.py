"""The embedded model as a `Model`: works with no key and no network."""

import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import uuid4

from limnos import lazy
from limnos.kernel.errors import ModelUnavailableError
from limnos.kernel.messages import Message, text_of
from limnos.kernel.model import Delta, Notice, Request, ToolSpec, Usage
from limnos.kernel.tools import TOOLS_OPEN
from limnos.providers.catalogue import Entry
from limnos.providers.embedded_prompt import compose, facts_of, is_east_asian, prefix
from limnos.providers.embedded_reply import ReplyDecoder
from limnos.providers.embedded_runtime import Frame, Job, Runtime, RuntimeSpec
from limnos.providers.grammar import reply_grammar
from limnos.retrieval import tokens

_REMEMBERED_TIMES = 256
_STATES_KEPT = 4


@dataclass(frozen=True, slots=True)
class Options:
    """How to run it. `threads` 0 means as many as are idle when it starts.

    `grammar` off is for measuring only. After `hang_s` seconds without a sign of life it is ended.
    """

    threads: int = 0
    grammar: bool = True
    hang_s: float = 120.0


def local_time() -> str:
    """The date and time here, as a person says them."""
    return f"{datetime.now().astimezone():%A, %Y-%m-%d %H:%M %Z}"


class Embedded:
    """A model of the catalogue in a child process. See `kernel.model.Model` for what it promises.

    It says exactly one call or one answer a reply. Of the request's system messages it uses only a last
    paragraph that begins with `Facts:`; that and the time stand at the head of the user messages, where a
    change does not spoil the cache.
    """

    def __init__(
        self,
        entry: Entry,
        file: Path,
        options: Options | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        new_call_id: Callable[[], str] = lambda: f"call_{uuid4().hex[:12]}",
        now: Callable[[], str] = local_time,
    ) -> None:
        self._entry = entry
        self._options = options or Options()
        self._new_call_id = new_call_id
        self._now = now
        self._file_digest = entry.sha256[:16]
        self._states = file.parent / "states"
        self._times: OrderedDict[str, str] = OrderedDict()
        self._runtime = Runtime(
            RuntimeSpec(
                entry.name,
                file,
                self._states,
                entry.memory,
                entry.context,
                self._options.threads,
            ),
            monotonic,
            self._options.hang_s,
        )

    @property
    def name(self) -> str:
        """`embedded/` and the catalogue's name."""
        return f"embedded/{self._entry.name}"

    @property
    def context_tokens(self) -> int:
        """The size of the window in tokens."""
        return self._entry.context

    @property
    def pid(self) -> int | None:
        """The process that runs the model now, if one does."""
        return self._runtime.pid

    async def warm(self, tools: Sequence[ToolSpec]) -> Usage:
        """Start the process and have the fixed part of the prompt in its cache; then a first reply is quick.

        Takes about 13 s for the default model on two cores the first time, and as long as loading from then
        on, since the state is kept beside the model file. Raises `ModelUnavailableError`.
        """
        text = prefix(tools)
        frame = await self._runtime.warm(text, self._state_name(text))
        self._trim_states()
        return Usage(frame["prompt_tokens"], 0, frame["cached_tokens"])

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Send `request` and yield the reply as it comes. Closing the iterator stops the model at once.

        It does not read the system text that names groups of tools, so it is not offered what opens them.
        """
        request = request._replace(tools=tuple(tool for tool in request.tools if tool.name != TOOLS_OPEN))
        if self._runtime.pid is None:
            if not (self._states / self._state_name(prefix(request.tools))).is_file():
                yield self._reads_first()
            await self.warm(request.tools)
        decoder = ReplyDecoder(self._new_call_id)
        begun = False
        try:
            async with aclosing(self._runtime.generate(self._job(request))) as frames:
                async for frame in frames:
                    for delta in _said(decoder, frame):
                        begun = True
                        yield delta
                    if decoder.goes_round:
                        yield decoder.finish("length", "it only repeated itself and was stopped")[1]
                        return
        except ModelUnavailableError as error:
            if not begun:
                raise
            yield decoder.finish("incomplete", error.what)[1]

    def count_tokens(self, text: str) -> int:
        """An estimate by another tokeniser; see `retrieval.tokens`."""
        return tokens.count(text)

    async def close(self) -> None:
        """End the child process."""
        await self._runtime.close()

    def _job(self, request: Request) -> Job:
        return Job(
            prompt=compose(request, self._heads(request.messages)),
            grammar=self._grammar(request),
            max_tokens=request.max_tokens,
            temperature=request.temperature,
        )

    def _grammar(self, request: Request) -> str:
        if not self._options.grammar:
            return ""
        return reply_grammar(request.tools, east_asian=is_east_asian(request.messages))

    def _heads(self, messages: Sequence[Message]) -> dict[int, str]:
        """What stands before each user message: the facts before the first, the time it was first seen.

        An earlier message keeps its time, so that the cache holds up to the newest one.
        """
        places = [place for place, message in enumerate(messages) if message.role == "user"]
        heads: dict[int, str] = {}
        for place in places:
            key = hashlib.sha256(f"{place}\0{text_of(messages[place].parts)}".encode()).hexdigest()
            if place == places[-1]:
                self._times.setdefault(key, self._now())
            said = (facts_of(messages) if place == places[0] else "", self._times.get(key, ""))
            heads[place] = "\n".join(filter(None, said))
        while len(self._times) > _REMEMBERED_TIMES:
            self._times.popitem(last=False)
        return heads

    def _reads_first(self) -> Notice:
        what = f"{self._entry.name} reads its instructions for the first time on this machine"
        return Notice("model_warming", f"{what}: two to four minutes, once", "wait; Ctrl-C stops it")

    def _state_name(self, text: str) -> str:
        version = lazy.metadata.version("xllamacpp")
        key = f"{version}\0{self._entry.context}\0{text}"
        return f"{self._file_digest}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.state"

    def _trim_states(self) -> None:
        states = sorted(self._states.glob("*.state"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in states[_STATES_KEPT:]:
            old.unlink(missing_ok=True)
            old.with_name(f"{old.name}.sha256").unlink(missing_ok=True)


def _said(decoder: ReplyDecoder, frame: Frame) -> list[Delta]:
    """What one frame of the child adds to the reply."""
    if frame["type"] == "text":
        delta = decoder.feed(frame["text"])
        return [delta] if delta else []
    if frame["type"] != "end":
        return []
    last, finish = decoder.finish("length" if frame["reason"] == "length" else "stop")
    usage = Usage(frame["prompt_tokens"], frame["completion_tokens"], frame["cached_tokens"])
    return [last, usage, finish] if last else [usage, finish]
