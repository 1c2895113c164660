"""Conversations for the window: made by hand, at random, and from recorded transcripts."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.context.sources import NOTHING, Sources
from limnos.kernel.conversation import Conversation
from limnos.kernel.events import (
    CallFinished,
    CallProposed,
    ContextChanged,
    Event,
    ReplyFinished,
    StepFinished,
    TurnFinished,
    TurnStarted,
)
from limnos.kernel.messages import Message, Text, ToolCall, ToolResult, text_of
from limnos.kernel.model import ToolSpec
from limnos.kernel.pairing import check_pairing
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Rendered
from limnos.kernel.units import MemoryShelf, Said, Step
from limnos.providers.openai_codec import decode_messages
from limnos.providers.scripted import Scripted
from tests.conftest import SHARED

TRANSCRIPTS = SHARED / "data" / "transcripts"
PROMPT = "You are a test. " * 8


class CountingModel(Scripted):
    """Counts the characters whose tokens it was asked to count: the work of a render."""

    def __init__(self, context_tokens: int) -> None:
        super().__init__([], context_tokens=context_tokens)
        self.counted = 0

    def count_tokens(self, text: str) -> int:
        """Four characters a token, and a note of how many were counted."""
        self.counted += len(text)
        return len(text) // 4


def engine(
    budget: int, registry: Registry | None = None, sources: Sources = NOTHING, **more: Any
) -> tuple[Engine, CountingModel]:
    """An engine whose request budget is `budget` tokens."""
    model = CountingModel(budget * 10 // 8 + 10)
    settings = WindowSettings(reserve=int(model.context_tokens * 0.8) - budget, **more)
    return Engine(model, Catalogue(registry or Registry()), lambda closed: PROMPT, settings, sources), model


def rendered(one: Engine, conversation: Conversation, note: str = "") -> Rendered:
    """What the next request holds, and the event of it folded as the loop does; nothing waits in it."""
    request = peeked(one, conversation, note)
    if request.sunk:
        conversation.apply(changed(request, _seq(conversation)))
    return request


def peeked(one: Engine, conversation: Conversation, note: str = "") -> Rendered:
    """What the next request holds; no event loop is needed."""
    try:
        one.render(conversation, note=note).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a render waited")


def changed(request: Rendered, seq: int) -> ContextChanged:
    """The event of a render, gone through JSON as a log does it."""
    written = json.loads(json.dumps([request.markers, request.decisions]))
    return ContextChanged(
        seq=seq,
        reason="pruned",
        used=request.used,
        budget=request.budget,
        reserve=request.reserve,
        sunk=list(request.sunk),
        markers=written[0],
        ledger=request.ledger,
        decisions=written[1],
    )


def talk() -> Conversation:
    """A conversation from which units may sink."""
    return Conversation(shelf=MemoryShelf())


def _seq(conversation: Conversation) -> int:
    """The number of the next event."""
    conversation.last_seq += 1
    return conversation.last_seq


def say(conversation: Conversation, text: str) -> None:
    """A user message begins a turn."""
    conversation.last.turn += 1
    conversation.turn_open = True
    conversation.units.append(Said(_seq(conversation), conversation.turn, "2026-03-14T20:31:04.118Z", text))


def act(conversation: Conversation, text: str, calls: Sequence[tuple[str, dict[str, Any], str]] = ()) -> None:
    """A step: a reply, its calls and their results."""
    number = _seq(conversation)
    unit = Step(number, conversation.turn, number, "2026-03-14T20:31:05.000Z", (Text(text),))
    for place, (name, arguments, result) in enumerate(calls):
        call_id = f"u{number}c{place}"
        unit.calls.append(ToolCall(call_id, name, arguments))
        unit.tools.append(name)
        unit.results[call_id] = ToolResult(call_id, "done", (Text(result),) if result else ())
    unit.open = False
    conversation.units.append(unit)


def happen(conversation: Conversation, what: str, text: str) -> None:
    """One more thing in a session, in the way events make it."""
    units = conversation.units
    if what in ("act", "break off"):
        if isinstance(units[-1], Step) and not units[-1].complete:
            units.pop()  # the second try takes its place
        act(conversation, text, [("read", {"path": "a"}, text)] if what == "act" else ())
        last = units[-1]
        assert isinstance(last, Step)
        last.complete = what == "act"
    elif what == "inject":
        units.append(Said(_seq(conversation), conversation.turn, "2026-03-14T20:31:06.000Z", text))
    elif what == "end":
        conversation.turn_open = False
    else:
        say(conversation, text)


def anew(conversation: Conversation) -> Conversation:
    """The same conversation without anything that a window has kept in it."""
    copy = talk()
    copy.last.turn, copy.turn_open = conversation.turn, conversation.turn_open
    copy.window = conversation.window
    copy.units = [replace(unit, tokens=None, rendered=None) for unit in conversation.units]
    return copy


def spoken(request: Rendered) -> int:
    """The tokens of what really goes out, counted afresh, without the separators of a chat template."""
    total = 0
    for message in request.messages:
        text = text_of(message.result.parts if message.result else message.parts)
        calls = "".join(
            f"{call.name}{json.dumps(dict(call.arguments or {}), ensure_ascii=False)}"
            for call in message.calls
        )
        total += len(text + calls) // 4
    return total + sum(spec_tokens(spec) for spec in request.tools)


def spec_tokens(spec: ToolSpec) -> int:
    """What a tool costs in a request."""
    return (
        len(
            json.dumps(
                {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
            )
        )
        // 4
    )


def check(request: Rendered, question: str) -> None:
    """What holds for every request that may go out."""
    messages = request.messages
    assert request.used <= request.budget, (request.used, request.budget)
    assert spoken(request) <= request.used
    assert messages[0].role == "system"
    assert text_of(messages[0].parts) == PROMPT
    assert check_pairing(messages).valid
    assert all(one.role == "tool" or one.role != other.role for one, other in pairwise(messages))
    said = "".join(text_of(message.parts) for message in messages if message.role == "user")
    assert question[:20] in said


def prefix(messages: Sequence[Message]) -> list[str]:
    """Each message as the text of its content, for comparison."""
    return [repr(message) for message in messages]


def replayed(messages: Sequence[Message], conversation: Conversation) -> Iterator[str]:
    """Fold recorded messages into `conversation`; yields the current question before each reply."""
    question = ""
    results = {message.result.call_id: message.result for message in messages if message.result}
    for message in messages:
        if message.role == "user":
            question = text_of(message.parts)
            say(conversation, question)
        elif message.role == "assistant" and question:
            yield question
            calls = [call for call in message.calls if call.id in results]
            act(conversation, text_of(message.parts))
            unit = conversation.units[-1]
            assert isinstance(unit, Step)
            unit.calls += calls
            unit.tools += [call.name for call in calls]
            unit.results |= {call.id: results[call.id] for call in calls}


@cache
def coding_session() -> tuple[Message, ...]:
    """One long coding session."""
    lines = (TRANSCRIPTS / "coding_session_a.openai.jsonl").read_text(encoding="utf-8").split("\n")
    return check_pairing(decode_messages([json.loads(line) for line in lines if line.strip()])).messages


@cache
def service_chats() -> tuple[tuple[Message, ...], ...]:
    """A hundred chats of a customer service."""
    lines = (TRANSCRIPTS / "tau_airline_dev.openai.jsonl").read_text(encoding="utf-8").split("\n")
    chats = (json.loads(line)["messages"] for line in lines if line.strip())
    return tuple(check_pairing(decode_messages(chat)).messages for chat in chats)


def session_events(
    turns: Sequence[tuple[int, Sequence[tuple[int, int]]]], text: str = "word"
) -> Iterator[tuple[bool, Event]]:
    """The events of a session without their numbers; true where a request would be rendered.

    A turn is the size of its question and its steps, a step the sizes of its argument and its result.
    """
    for number, (size, steps) in enumerate(turns, 1):
        where: dict[str, Any] = {"turn": number, "time": f"2026-03-14T20:{number:02}:00.000Z"}
        said = f"question {number} {(text + ' ') * (size // 5)}"
        told = {"source": "cli", "principal": "owner", "client_id": f"c{number}", "persona": "p"}
        yield True, TurnStarted(input=said, model="m", mode="ask", **told, **where)
        for place, (given, size_of_result) in enumerate(steps, 1):
            call, where["step"] = f"t{number}s{place}", place
            yield False, ReplyFinished(text=f"step {place}", finish="tool_calls", **where)
            arguments = {"path": f"src/f{place % 4}.py", "text": (text + " ") * (given // 5)}
            yield False, CallProposed(call=call, tool="read", arguments=arguments, **where)
            result = f"{text} " * (size_of_result // 5)
            yield False, CallFinished(call=call, tool="read", outcome="done", text=result, **where)
            yield True, StepFinished(text=f"step {place}", **where)
        yield False, StepFinished(text="that is all", **where)
        ended = {"reason": "done", "exit": 0, "steps": 1, "calls": 0, "ms": 1, "tokens": 1}
        yield False, TurnFinished(**ended, **where)
