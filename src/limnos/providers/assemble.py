"""From chunk objects to deltas, and at the end to one `Finish` with whole calls."""

from collections.abc import Iterable
from typing import Any, cast

from limnos.kernel.model import CallDelta, Delta, Finish, FinishReason, ReasoningDelta, TextDelta, Usage
from limnos.providers.calls import CallAssembler, TooManyCallsError
from limnos.providers.chunks import Chunk, read_chunk
from limnos.providers.spoken import SpokenCalls
from limnos.providers.surrogates import HalfKeeper, whole

# What servers call the ends of a reply. A reason that is not listed is an end like `stop`.
_REASONS: dict[str, FinishReason] = {
    "tool_calls": "tool_calls", "function_call": "tool_calls", "tool_use": "tool_calls",
    "length": "length", "max_tokens": "length", "model_length": "length", "max_output_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter", "safety": "content_filter", "sensitive": "content_filter",
    "error": "error", "abort": "error", "network_error": "error", "insufficient_system_resource": "error",
}  # fmt: skip


class ReplyAssembler:
    """Takes the chunks of one reply in order. After `finish` it is used up."""

    def __init__(self, tools: Iterable[str] = ()) -> None:
        names = tuple(tools)
        self._calls = CallAssembler(names)
        self._spoken = SpokenCalls(names)
        self._text = HalfKeeper()
        self._thought = HalfKeeper()
        self._said_text = False
        self._said_thought = False
        self._streamed = False
        self._usage: dict[str, int] = {}
        self._finish: str | None = None
        self._marked = False
        self._error: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the provider sent an error."""
        return self._error is not None

    def feed(self, value: object) -> list[Delta]:
        """The deltas that a chunk object brings; none for what is no chunk."""
        chunk = read_chunk(value)
        if chunk.error is not None:
            self.fail(chunk.error)
        self._note_usage(chunk)
        self._note_finish(chunk.finish)
        if chunk.whole_message and self._streamed:
            return []  # a closing message repeats what came in deltas
        self._streamed = self._streamed or (not chunk.whole_message and self._says(chunk))
        return self._deltas(chunk)

    def end_mark(self) -> None:
        """`[DONE]` came."""
        self._marked = True

    def fail(self, text: str) -> None:
        """The provider sent an error; the first one is kept."""
        self._error = self._error or text or "the provider sent an error without a text"

    def finish(self, broken: str = "") -> list[Delta]:
        """The last deltas: what was held back, usage, and the end. `broken` says how the stream broke off."""
        reason, detail = self._end(broken)
        calls = self._calls.finish(stopped_early=reason in ("length", "incomplete", "error"))
        last = self._spoken.feed(self._text.close())
        if not calls and reason == "stop":
            calls = self._spoken.calls()
        deltas = [
            *self._text_delta(last + self._spoken.release()),
            *self._thought_delta(self._thought.close(), None),
        ]
        if self._usage:
            deltas.append(
                Usage(
                    self._usage.get("prompt", 0),
                    self._usage.get("completion", 0),
                    self._usage.get("cached", 0),
                )
            )
        return [*deltas, Finish(reason, calls, detail)]

    def _end(self, broken: str) -> tuple[FinishReason, str]:
        if self._error is not None:
            return "error", self._error
        if self._finish is None and not self._marked:
            return "incomplete", broken or "the stream ended without a finish marker"
        reason = _REASONS.get((self._finish or "stop").strip().lower(), "stop")
        if reason == "error":
            return "error", f"the provider ended the reply with {self._finish!r}"
        if reason == "length" and self._said_thought and not self._said_text and not self._calls:
            return (
                "length",
                "reasoning used up the whole reply budget: raise the reply budget (context.reserve)",
            )
        return reason, ""

    def _deltas(self, chunk: Chunk) -> list[Delta]:
        deltas = [
            *self._thought_delta(self._thought.feed(chunk.reasoning), chunk.signature),
            *self._text_delta(self._spoken.feed(self._text.feed(chunk.text))),
        ]
        self._calls.next_delta()
        for piece in chunk.fragments:
            try:
                call = self._calls.add(piece)
            except TooManyCallsError as error:
                self.fail(str(error))
                break
            if call is not None:
                deltas.append(CallDelta(call.position, whole(call.name), whole(piece.arguments)))
        return deltas

    def _text_delta(self, text: str) -> list[Delta]:
        self._said_text = self._said_text or bool(text)
        return [TextDelta(text)] if text else []

    def _thought_delta(self, text: str, signature: str | None) -> list[Delta]:
        self._said_thought = self._said_thought or bool(text)
        return [ReasoningDelta(text, signature)] if text or signature else []

    def _says(self, chunk: Chunk) -> bool:
        return bool(chunk.text or chunk.reasoning or chunk.fragments)

    def _note_finish(self, finish: str | None) -> None:
        """The first reason counts; that the reply was cut is never taken back."""
        if finish is not None and (self._finish is None or _REASONS.get(finish.strip().lower()) == "length"):
            self._finish = finish

    def _note_usage(self, chunk: Chunk) -> None:
        """Usage is a running total, so the last number of each kind counts."""
        if chunk.usage is None:
            return
        for kind, number in _numbers(chunk.usage):
            self._usage[kind] = number


def _numbers(usage: dict[str, Any]) -> Iterable[tuple[str, int]]:
    details = usage.get("prompt_tokens_details")
    cached = cast("dict[str, Any]", details).get("cached_tokens") if isinstance(details, dict) else None
    found = {
        "prompt": (usage.get("prompt_tokens"), usage.get("input_tokens")),
        "completion": (usage.get("completion_tokens"), usage.get("output_tokens")),
        "cached": (cached, usage.get("prompt_cache_hit_tokens"), usage.get("cached_tokens")),
    }
    for kind, candidates in found.items():
        for value in candidates:
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
                yield kind, int(value)
                break
