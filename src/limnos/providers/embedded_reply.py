"""Turns the JSON that the embedded model says, as it comes, into deltas of the kernel."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from limnos.kernel.arguments import ParseFailure, parse_arguments, parse_json
from limnos.kernel.messages import ToolCall
from limnos.kernel.model import CallDelta, Finish, FinishReason, TextDelta

_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"')
_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*"([^"\\]+)"\s*,\s*"args"\s*:\s*')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_UNIT = re.compile(rf"[^\"\\]+|{_HIGH}{_LOW}|\\u[0-9a-fA-F]{{4}}|\\[^u]", re.DOTALL)
_UNFINISHED = re.compile(rf"(?:{_HIGH})?\\(?:u[0-9a-fA-F]{{0,3}})?\Z|{_HIGH}\Z")


LOOP_TIMES = 8
_LOOP_CHARACTERS = range(20, 201)
_LOOP_DISTINCT = 5


def goes_round(text: str) -> bool:
    """Whether `text` ends in the same 20 to 200 characters eight times: a small model goes on for ever."""
    return any(
        text.endswith(text[-size:] * LOOP_TIMES) and len(set(text[-size:])) >= _LOOP_DISTINCT
        for size in _LOOP_CHARACTERS
        if len(text) >= size * LOOP_TIMES
    )


class JsonText:
    """The characters of a JSON string, from its opening quote on, however its source is cut into pieces."""

    def __init__(self) -> None:
        self._rest: str = ""
        self.closed = False

    def feed(self, source: str) -> str:
        """What `source` adds to the text; what follows the closing quote is ignored."""
        if self.closed:
            return ""
        source = self._rest + source
        held = _UNFINISHED.search(source)
        end = held.start() if held and not _is_escaped(source, held.start()) else len(source)
        out: list[str] = []
        place = 0
        while place < end and (unit := _UNIT.match(source, place, end)):
            out.append(_character(unit.group()))
            place = unit.end()
        self.closed = place < end
        self._rest = source[place:]
        return "".join(out)


def _is_escaped(text: str, place: int) -> bool:
    before = text[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _character(unit: str) -> str:
    if not unit.startswith("\\"):
        return unit
    if not unit.startswith("\\u"):
        return _ESCAPES.get(unit[1], unit[1])
    halves = [int(code, 16) for code in unit.split("\\u")[1:]]
    if len(halves) == 2:
        return chr(0x10000 + ((halves[0] - 0xD800) << 10) + (halves[1] - 0xDC00))
    return "\ufffd" if 0xD800 <= halves[0] <= 0xDFFF else chr(halves[0])


@dataclass(slots=True)
class _Answer:
    text: JsonText


@dataclass(slots=True)
class _Call:
    name: str
    start: int
    shown: int


class ReplyDecoder:
    """One reply. `feed` it what the model says; `finish` it once.

    A reply that is neither of the two forms (only possible without the grammar) is searched for a call at
    the end, and is an answer otherwise.
    """

    def __init__(self, new_call_id: Callable[[], str]) -> None:
        self._new_call_id = new_call_id
        self._raw = ""
        self._form: _Answer | _Call | None = None

    @property
    def goes_round(self) -> bool:
        """Whether the reply only repeats itself."""
        return goes_round(self._raw)

    def feed(self, piece: str) -> TextDelta | CallDelta | None:
        """What `piece` adds to the answer or to the call, if anything can be shown yet."""
        self._raw += piece
        match self._form:
            case None:
                return self._recognise()
            case _Answer(text):
                return _shown(text.feed(piece))
            case _Call() as call:
                return self._grow(call)

    def finish(self, reason: FinishReason, detail: str = "") -> tuple[TextDelta | None, Finish]:
        """The end of the reply, and the text that only now turned out to be one."""
        match self._form:
            case _Answer():
                return None, Finish(reason, (), detail)
            case _Call(name, start):
                return None, Finish(*self._ended(name, self._raw[start:].strip(), reason), detail)
            case None:
                return self._unformed(reason, detail)

    def _recognise(self) -> TextDelta | CallDelta | None:
        if found := _ANSWER.match(self._raw):
            self._form = _Answer(JsonText())
            return _shown(self._form.text.feed(self._raw[found.end() :]))
        if found := _CALL.match(self._raw):
            self._form = _Call(found.group(1), found.end(), found.end())
            return self._grow(self._form) or CallDelta(0, self._form.name, "")
        return None

    def _grow(self, call: _Call) -> CallDelta | None:
        end = len(self._raw) - 1  # the last character may be the brace around the call
        if end <= call.shown:
            return None
        fragment, call.shown = self._raw[call.shown : end], end
        return CallDelta(0, call.name, fragment)

    def _ended(self, name: str, raw: str, reason: FinishReason) -> tuple[FinishReason, tuple[ToolCall, ...]]:
        complete = reason == "stop"
        parsed = parse_arguments(raw.removesuffix("}") if complete else raw)
        if isinstance(parsed, ParseFailure) or not complete:
            why = (
                parsed.detail
                if isinstance(parsed, ParseFailure)
                else "the reply was cut off after the arguments"
            )
            return reason, (ToolCall(self._new_call_id(), name, None, raw, why, cut=not complete),)
        return "tool_calls", (ToolCall(self._new_call_id(), name, parsed, raw.removesuffix("}")),)

    def _unformed(self, reason: FinishReason, detail: str) -> tuple[TextDelta | None, Finish]:
        start = self._raw.find("{")
        stop = self._raw.rfind("}")
        value = parse_json(self._raw[start : stop + 1]) if start >= 0 else None
        if isinstance(value, dict):
            reply = cast("dict[str, Any]", value)
            tool, args = reply.get("tool"), reply.get("args", {})
            if isinstance(tool, str) and isinstance(args, dict):
                arguments = cast("dict[str, Any]", args)
                return None, Finish(
                    "tool_calls", (ToolCall(self._new_call_id(), tool, arguments, self._raw),), detail
                )
            if isinstance(answer := reply.get("answer"), str):
                return TextDelta(answer), Finish(reason, (), detail)
        return _shown(self._raw), Finish(reason, (), detail)


def _shown(text: str) -> TextDelta | None:
    return TextDelta(text) if text else None
