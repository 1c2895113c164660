"""What the embedded model reads: a short system text, examples as chat turns, then the conversation.

Measured (architecture, "The embedded model's weights"): the examples as chat turns gave 16 of 16 right
tools, the same lines inside the system text 10, the model's own tool template 2 of 20.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from limnos.kernel.messages import Message, Text, ToolCall, ToolResult, result_text, text_of
from limnos.kernel.model import Request, ToolSpec
from limnos.providers.embedded_results import result_of

Segment = tuple[str, bool]
"""A piece of the prompt, and whether role marks in it are role marks (ours) or plain text (anybody's)."""

FACTS = "Facts:"
SYSTEM_TOKENS = 400
RESULT_CHARACTERS = 8000
OLD_RESULT_CHARACTERS = 600
REQUEST_CHARACTERS = 300

_DESCRIPTION_CHARACTERS = 90
_SPEAKS_OF_EAST_ASIAN = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|\b(?:chin[aeo]|mandarin|canton|japan|japon|giappo|korea|coreano|coréen|кита|япон|корей)",
    re.IGNORECASE,
)
_HEAD = re.compile(r"\A\[(?=[\di])(?:[-0-9]{10} [0-9:]{5} UTC)?(?:; )?(?:in this folder: (.*))?\]\n")
_BYTES_PER_TOKEN = 3.6
_END = "<|im_end|>\n"


class Rule(NamedTuple):
    """A line on how to choose; it is said when all of its `tools` are offered."""

    text: str
    tools: list[str]


class Pair(NamedTuple):
    """An example, as turns:
    `[user, text]`, `[call, tool, args]`, `[result, tool, text]`, `[answer, text]`.
    """

    turns: list[list[Any]]

    @property
    def tools(self) -> set[str]:
        """The tools it calls; it is shown when all of them are offered."""
        return {turn[1] for turn in self.turns if turn[0] == "call"}


class Asks(NamedTuple):
    """What is said after a result in a language, more after read_file, another thing after a denied call."""

    after_result: str
    after_reading: str
    after_denial: str


class Texts(NamedTuple):
    """The fixed texts, as `embedded_prompt.json` holds them."""

    intro: str
    tools: str
    rules: list[Rule]
    request: str
    english: Asks
    chinese: Asks
    pairs: list[Pair]


class _Asked(NamedTuple):
    """The user message that a turn belongs to: what is said before it, and its words."""

    head: str = ""
    request: str = ""


@cache
def texts() -> Texts:
    """The shipped texts."""
    data = json.loads(Path(__file__).with_name("embedded_prompt.json").read_bytes())
    rules = [Rule(**rule) for rule in data.pop("rules")]
    pairs = [Pair(**pair) for pair in data.pop("pairs")]
    asks = {language: Asks(**data.pop(language)) for language in ("english", "chinese")}
    return Texts(rules=rules, pairs=pairs, **asks, **data)


def prefix(tools: Sequence[ToolSpec]) -> str:
    """What every request with these tools begins with: the system text and the examples."""
    offered = {tool.name for tool in tools}
    parts = [_mark("system"), system_text(tools), _END]
    for pair in texts().pairs:
        if pair.tools <= offered:
            request = _words(pair.turns[0][1])
            parts += [text for turn in pair.turns for text in _example(turn, request)]
    return "".join(parts)


def system_text(tools: Sequence[ToolSpec]) -> str:
    """Who it is, the tools in one line each, the rules; at most about `SYSTEM_TOKENS` tokens.

    Every tool is named. Descriptions are given in the order of the tools as long as there is room.
    """
    shown = texts()
    offered = {tool.name for tool in tools}
    rules = [f"- {rule.text}" for rule in shown.rules if set(rule.tools) <= offered]
    room = SYSTEM_TOKENS - sum(map(_size, (shown.intro, shown.tools, *rules, *(tool.name for tool in tools))))
    lines: list[str] = []
    for tool in tools:
        line = tool_line(tool)
        room -= _size(line) - _size(tool.name)
        lines.append(line if room >= 0 else tool.name)
    listed = [shown.tools, *lines] if lines else []
    return "\n".join((shown.intro, *listed, *rules))


def _size(line: str) -> float:
    # the same for the same text in every process, or the kept state of the prefix would be of no use
    return len(line.encode()) / _BYTES_PER_TOKEN


def tool_line(tool: ToolSpec) -> str:
    """`name(required, optional?): ` and the first sentence of the description."""
    properties = cast("Mapping[str, Any]", tool.parameters.get("properties") or {})
    required = set(cast("list[str]", tool.parameters.get("required") or []))
    names = ", ".join(name if name in required else f"{name}?" for name in properties)
    sentence = tool.description.split(". ")[0].split("\n")[0].rstrip(".")
    return f"{tool.name}({names}): {sentence[:_DESCRIPTION_CHARACTERS]}"


def facts_of(messages: Sequence[Message]) -> str:
    """The last paragraph of the system messages if it begins with `Facts:`; all else of them is not used.

    Other routes get a long system text. This one has its own; of theirs it takes the date, the folder and
    what else the caller puts there.
    """
    paragraphs = [
        part
        for message in messages
        if message.role == "system"
        for part in text_of(message.parts).split("\n\n")
    ]
    last = paragraphs[-1].strip() if paragraphs else ""
    return last if last.startswith(FACTS) else ""


def compose(request: Request, heads: Mapping[int, str]) -> list[Segment]:
    """The prompt of `request`. `heads` are said before the user message with that index.

    Results of the newest turn keep up to `RESULT_CHARACTERS`, older ones `OLD_RESULT_CHARACTERS`.
    """
    newest = newest_user(request.messages)
    segments: list[Segment] = [(prefix(request.tools), True)]
    asked = _Asked()
    for place, message in enumerate(request.messages):
        room = RESULT_CHARACTERS if place > newest else OLD_RESULT_CHARACTERS
        if message.role == "user":
            head = heads.get(place, "")
            asked = _Asked(f"[{head}]\n" if head else "", request_of(message))
        segments += _turns(request.messages, place, room, asked)
    segments.append((_mark("assistant"), True))
    return segments


def is_east_asian(messages: Sequence[Message]) -> bool:
    """Whether somebody but the model wrote in Chinese, Japanese or Korean, or spoke of these languages.

    Where nobody did, the model is kept from it: it answered one English request in ten in Chinese.
    """
    return any(
        _SPEAKS_OF_EAST_ASIAN.search(
            result_text(message.result) if message.result else text_of(message.parts)
        )
        for message in messages
        if message.role != "assistant"
    )


def newest_user(messages: Sequence[Message]) -> int:
    """The index of the last user message; -1 when there is none."""
    return max((place for place, message in enumerate(messages) if message.role == "user"), default=-1)


def request_of(message: Message) -> str:
    """The words of a user message without its time; of a long one the end, where the question stands."""
    return _words(text_of(message.parts))


def _with_hint(said: str, *, timed: bool = True) -> str:
    """A user message; after it, what shows the content of the files and folders that it names.

    Its time is left out when it is `timed` already.
    """
    head = _HEAD.match(said)
    if head is None:
        return said
    named, words = head[1], _HEAD.sub("", said)
    if not named:
        return words if timed else said
    calls = [
        f"list_dir {name[:-1]}" if name.endswith("/") else f"read_file {name}" for name in named.split(", ")
    ]
    told = f"[in this folder: {named}]\n{words}" if timed else said
    return f"{told}\n({', '.join(calls)}: shows what is in it)"


def _words(said: str) -> str:
    return _HEAD.sub("", said)[-REQUEST_CHARACTERS:].strip()


def _turns(messages: Sequence[Message], place: int, room: int, asked: _Asked) -> Iterator[Segment]:
    message = messages[place]
    match message.role:
        case "user":
            yield from _turn("user", asked.head + _with_hint(text_of(message.parts), timed=bool(asked.head)))
        case "assistant" if not message.calls:
            if text := text_of(message.parts):
                yield from _turn("assistant", answer_json(text))
        case "tool" if message.result is not None:
            # one call, one result: several calls of one reply (another model made them) are told one by one
            if call := _call_of(messages[:place], message.result.call_id):
                yield from _turn("assistant", call_json(call.name, call.arguments or {}))
            yield from _turn("user", _told(call.name if call else "", message.result, asked.request, room))
        case _:
            return


def _call_of(messages: Sequence[Message], call_id: str) -> ToolCall | None:
    return next(
        (call for message in reversed(messages) for call in message.calls if call.id == call_id), None
    )


def call_json(tool: str, arguments: Mapping[str, Any]) -> str:
    """A call in the form the grammar allows."""
    return json.dumps({"tool": tool, "args": arguments}, ensure_ascii=False)


def answer_json(text: str) -> str:
    """An answer in the form the grammar allows."""
    return json.dumps({"answer": text}, ensure_ascii=False)


def _told(tool: str, result: ToolResult, request: str, room: int) -> str:
    """A result as the person's turn; the request once more, or its words and language would be forgotten."""
    chinese = _SPEAKS_OF_EAST_ASIAN.search(request) is not None
    asks = texts().chinese if chinese else texts().english
    ask = asks.after_result + (asks.after_reading if tool == "read_file" else "")
    if result.outcome == "denied":
        ask = asks.after_denial
    told = result_of(tool, result_text(result), request, room, chinese=chinese, whole=result.error is None)
    return f"{told}\n\n{texts().request} {request}\n{ask}"


def _mark(role: str) -> str:
    return f"<|im_start|>{role}\n"


def _turn(role: str, text: str) -> Iterator[Segment]:
    yield _mark(role), True
    yield text, False
    yield _END, True


def _example(turn: list[Any], request: str) -> Iterator[str]:
    match turn:
        case ["user", text]:
            yield _mark("user") + _with_hint(text) + _END
        case ["call", tool, arguments]:
            yield _mark("assistant") + call_json(tool, arguments) + _END
        case ["result", tool, text]:
            result = ToolResult("", "done", (Text(text),))
            yield _mark("user") + _told(tool, result, request, RESULT_CHARACTERS) + _END
        case ["answer", text]:
            yield _mark("assistant") + answer_json(text) + _END
        case _:
            raise ValueError(f"no turn of an example: {turn}")
