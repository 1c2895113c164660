"""A model that follows a script: for tests, replay and demonstrations. Anything unforeseen is an error.

A script is a JSON file: `{"steps": [{"text": ..., "calls": [{"name": ..., "arguments": {...}}], ...}]}`.
Each request takes the next step; a step with `to`, a text, is for the next request whose first two messages
hold it, as those of one sub-agent do. A step may have `expect`, texts that the request must hold;
`reasoning`; `finish`, the finish reason; `error`, one of `unavailable`, `overflow`, `refused`; `delay`,
seconds before each word; `usage`, `[prompt, completion]` tokens.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from limnos.kernel.arguments import ParseFailure, parse_arguments
from limnos.kernel.errors import (
    ContextOverflowError,
    ModelError,
    ModelRefusedError,
    ModelRequestError,
    ModelUnavailableError,
    SettingsError,
)
from limnos.kernel.messages import ToolCall, result_text, text_of
from limnos.kernel.model import Delta, Finish, FinishReason, ReasoningDelta, Request, TextDelta, Usage
from limnos.sdk.regular import read_regular

_FIELDS = frozenset({"text", "to", "calls", "expect", "reasoning", "finish", "error", "delay", "usage"})
_ERRORS: dict[str, type[ModelError]] = {
    "unavailable": ModelUnavailableError,
    "overflow": ContextOverflowError,
    "refused": ModelRefusedError,
}
_MOST_BYTES = 64_000_000


class ScriptStep(NamedTuple):
    """One reply."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    expect: tuple[str, ...] = ()
    reasoning: str = ""
    finish: FinishReason = "stop"
    error: str = ""
    delay: float = 0.0
    usage: tuple[int, int] | None = None
    to: str = ""


class Scripted:
    """Implements `kernel.model.Model` over a list of steps."""

    def __init__(
        self, steps: Sequence[ScriptStep], name: str = "scripted/script", context_tokens: int = 16_384
    ) -> None:
        self._steps = list(steps)
        self._left = list(steps)
        self._name = name
        self._context_tokens = context_tokens
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        """See `Model`."""
        return self._name

    @property
    def context_tokens(self) -> int:
        """See `Model`."""
        return self._context_tokens

    @property
    def unused(self) -> int:
        """Steps that nobody asked for; a finished test expects 0."""
        return len(self._left)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model`. Raises ModelRequestError for a request that the script does not foresee."""
        place = len(self.requests)
        self.requests.append(request)
        step = self._next(request)
        if step is None:
            raise ModelRequestError(
                f"the script has {len(self._steps)} steps, this is request {place + 1}", "extend it"
            )
        _check_expected(step, request, place)
        if step.error:
            raise _ERRORS[step.error](f"scripted: {step.error}", "nothing; the script says so")
        if step.reasoning:
            yield ReasoningDelta(step.reasoning)
        for word in _words(step.text):
            if step.delay:
                await asyncio.sleep(step.delay)
            yield TextDelta(word)
        yield Usage(*(step.usage or (self.count_tokens(_text(request)), self.count_tokens(step.text))))
        yield Finish(step.finish, step.calls)

    def _next(self, request: Request) -> ScriptStep | None:
        """The next step for this request: of those that are for it by name, else of the others."""
        head = _text(request._replace(messages=request.messages[:2]))
        named = (step for step in self._left if step.to and step.to in head)
        step = next(named, None) or next((step for step in self._left if not step.to), None)
        if step is not None:
            self._left = [other for other in self._left if other is not step]
        return step

    def count_tokens(self, text: str) -> int:
        """Four characters a token."""
        return len(text) // 4

    async def close(self) -> None:
        """Nothing to give back."""


def load_script(path: Path) -> Scripted:
    """Read a script file. Raises SettingsError that names what is wrong in it."""
    try:
        document = json.loads(read_regular(path, _MOST_BYTES))
        steps = [_step(item, number) for number, item in enumerate(document["steps"])]
    except OSError as error:
        raise SettingsError(
            f"the script {path} cannot be read: {error.strerror}", "name a script file"
        ) from None
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"the script {path} is broken: {error}", 'write {"steps": [{"text": "hello"}]}'
        ) from None
    return Scripted(steps, f"scripted/{path.stem}", int(document.get("context_tokens", 16_384)))


def _step(item: Mapping[str, Any], number: int) -> ScriptStep:
    unknown = set(item) - _FIELDS
    if unknown:
        raise KeyError(f"step {number} has unknown fields {sorted(unknown)}")
    given = item.get("calls", [])
    calls = tuple(_call(call, f"s{number}c{place}") for place, call in enumerate(given))
    usage = item.get("usage")
    return ScriptStep(
        text=item.get("text", ""),
        calls=calls,
        expect=tuple(item.get("expect", [])),
        reasoning=item.get("reasoning", ""),
        finish=cast("FinishReason", item.get("finish", "tool_calls" if calls else "stop")),
        error=item.get("error", ""),
        delay=float(item.get("delay", 0.0)),
        to=str(item.get("to", "")),
        usage=(int(usage[0]), int(usage[1])) if usage else None,
    )


def _call(call: Mapping[str, Any], call_id: str) -> ToolCall:
    raw = call.get("raw")
    arguments = parse_arguments(raw if raw is not None else dict(call.get("arguments", {})))
    if isinstance(arguments, ParseFailure):
        return ToolCall(
            call.get("id", call_id), call["name"], None, str(raw), arguments.detail, arguments.cut
        )
    return ToolCall(call.get("id", call_id), call["name"], arguments, json.dumps(arguments))


def _check_expected(step: ScriptStep, request: Request, place: int) -> None:
    text = _text(request)
    for wanted in step.expect:
        if wanted not in text:
            raise ModelRequestError(
                f"request {place + 1} does not hold {wanted!r}", "mend the script or the code"
            )


def _text(request: Request) -> str:
    return "\n".join(
        text_of(message.parts) if message.result is None else result_text(message.result)
        for message in request.messages
    )


def _words(text: str) -> list[str]:
    words = text.split(" ")
    return [word if place == 0 else f" {word}" for place, word in enumerate(words) if word or place]
