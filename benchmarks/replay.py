"""B2: recorded transcripts through the context engine, at every budget that they do not fit.

usage: python benchmarks/replay.py [--quick] [--data PATH] [--without ledger|relevance] [--set NAME]

Every recorded conversation is folded event by event, as a running session is; before each reply the real
engine renders the request and prunes where it must. Beside it, at the same request budget in tokens: a tail
of whole groups that always fills it, and a cut message by message. Counted are requests that are invalid,
and the share of needed arguments that are still there: strings of at least 4 characters in a recorded call
that occur word for word in an earlier message. A budget is what the conversation may take: the system prompt
of a recording stands on top of it, for all three. Prefix reuse is the median, over turns, of the share of a
request's bytes (tool schemas and messages) with which the next request begins.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.context.prefix import repeated
from limnos.context.shorten import text_to_count
from limnos.context.sizes import MESSAGE_TOKENS
from limnos.kernel.conversation import Conversation
from limnos.kernel.errors import LimitError
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
from limnos.kernel.messages import Message, result_text, text_of
from limnos.kernel.pairing import check_pairing
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Rendered
from limnos.kernel.units import MemoryShelf
from limnos.providers.openai_codec import decode_messages
from limnos.providers.scripted import Scripted
from limnos.retrieval import tokens

SHARED = Path(__file__).resolve().parents[2] / "shared"
BUDGETS = (500, 700, 1_000, 1_400, 2_000, 2_800, 4_000, 5_600, 8_000, 11_000, 16_000, 22_000, 32_000)
BUDGETS += (45_000, 64_000, 90_000, 128_000, 180_000, 256_000, 360_000, 500_000)
LEAST_CHARACTERS = 4
OWN = ("ledger", "relevance")
OF_MEMORY = ("dense", "lexical", "neighbour", "scenes", "graph", "session")
SYSTEMS = ("engine", "tail", "cut")
TARGETS = {"recovered_percent": 50.0, "prefix_reuse": 90.0}


class Chat(NamedTuple):
    """One recorded conversation: its system prompt, the rest, and the tokens of each."""

    prompt: str
    messages: tuple[Message, ...]
    prompt_tokens: int
    sizes: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """All that is sent at its end."""
        return self.prompt_tokens + sum(self.sizes)


class Moment(NamedTuple):
    """Before a reply: how many messages are there, and which of its arguments stood in one of them."""

    messages: int
    needed: tuple[str, ...]


@dataclass
class Tally:
    """What was counted for one set at one budget, by system where it is a dict."""

    needed: int = 0
    present: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SYSTEMS, 0))
    invalid: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SYSTEMS, 0))
    sent: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SYSTEMS, 0))
    renders: int = 0
    refused: int = 0
    prunes: int = 0
    reuse: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class Counted(Scripted):
    """A model that counts as the product does and is never asked."""

    def count_tokens(self, text: str) -> int:
        """Tokens of the o200k encoding."""
        return tokens.count(text)


def chats_in(path: Path) -> list[Chat]:
    """The conversations of one file: one a line, or one message a line."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    lists = [row["messages"] for row in rows] if "messages" in rows[0] else [rows]
    chats: list[Chat] = []
    for listed in lists:
        prompts = [str(one["content"]) for one in listed if one["role"] == "system"]
        messages = check_pairing(decode_messages([one for one in listed if one["role"] != "system"])).messages
        prompt = "\n\n".join(prompts) or "You are an agent."
        sizes = tuple(tokens.count(text_to_count(one)) + MESSAGE_TOKENS for one in messages)
        chats.append(Chat(prompt, messages, tokens.count(prompt) + MESSAGE_TOKENS, sizes))
    return chats


def strings(value: Any) -> Iterator[str]:
    """All strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def plain(message: Message) -> str:
    """What a message says, arguments as they were meant."""
    said = text_of(message.parts) if message.result is None else result_text(message.result)
    return "\n".join((said, *(one for call in message.calls for one in strings(dict(call.arguments or {})))))


def moments(chat: Chat) -> dict[int, Moment]:
    """By the place of each reply what was needed for it and had been there."""
    found: dict[int, Moment] = {}
    texts: list[str] = []
    before = ""
    for place, message in enumerate(chat.messages):
        if message.role == "assistant":
            wanted = dict.fromkeys(
                one
                for call in message.calls
                for one in strings(dict(call.arguments or {}))
                if len(one) >= LEAST_CHARACTERS
            )
            before = "\n".join((before, *texts))
            texts.clear()
            found[place] = Moment(place, tuple(one for one in wanted if one in before))
        texts.append(plain(message))
    return found


class Clock:
    """Numbers and times of events, one a second."""

    def __init__(self) -> None:
        self._seq = 0

    def stamped(self, event: Event) -> Event:
        """`event` as a session would have written it down."""
        self._seq += 1
        hours, seconds = divmod(self._seq, 3600)
        time_of_day = f"{hours % 24:02}:{seconds // 60:02}:{seconds % 60:02}"
        return event.changed(seq=self._seq, time=f"2026-03-{1 + hours // 24:02}T{time_of_day}.000Z")


def events_of(chat: Chat) -> Iterator[tuple[int, list[Event]]]:
    """The recorded messages as the events of a session: the place of each reply, and what led to it."""
    waiting: list[Event] = []
    answers = {one.result.call_id: one.result for one in chat.messages if one.result}
    turn, step = 0, 0
    for place, message in enumerate(chat.messages):
        if message.role == "user":
            if turn:
                waiting.append(
                    TurnFinished(turn=turn, reason="done", exit=0, steps=step, calls=0, ms=0, tokens=0)
                )
            turn, step = turn + 1, 0
            said = {"input": text_of(message.parts), "client_id": str(place), "principal": "owner"}
            waiting.append(
                TurnStarted(turn=turn, source="replay", persona="p", model="m", mode="auto", **said)
            )
        elif message.role == "assistant":
            yield place, waiting
            step += 1
            waiting = list(_step(turn, step, message, answers))


def _step(turn: int, step: int, message: Message, answers: dict[str, Any]) -> Iterator[Event]:
    text, where = text_of(message.parts), {"turn": turn, "step": step}
    yield ReplyFinished(text=text, finish="tool_calls" if message.calls else "stop", **where)
    for call in message.calls:
        yield CallProposed(call=call.id, tool=call.name, arguments=dict(call.arguments or {}), **where)
    for call in message.calls:
        result = answers[call.id]
        yield CallFinished(
            call=call.id, tool=call.name, outcome="done", text=text_of(result.parts), ms=0, **where
        )
    yield StepFinished(text=text, **where)


class Baselines:
    """The same conversation as a tail of whole groups, and of messages, that fills the budget."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._texts = [plain(one) for one in chat.messages]
        self.whole = "\n".join(self._texts)
        self._offsets = [0]
        for text in self._texts:
            self._offsets.append(self._offsets[-1] + len(text) + 1)

    def begin(self, place: int, room: int, *, groups: bool) -> int:
        """Where the tail before `place` begins that has at most `room` tokens; `groups`: whole ones only."""
        begin = place
        for start in range(place - 1, -1, -1):
            room -= self._chat.sizes[start]
            if room < 0:
                break
            if not groups or self._chat.messages[start].result is None:
                begin = start
        return begin

    def present(self, needed: Sequence[str], begin: int, place: int) -> int:
        """How many of `needed` stand in the messages from `begin` to before `place`."""
        first, last = self._offsets[begin], self._offsets[place]
        return sum(self.whole.find(one, first, last) >= 0 for one in needed)


def replay(
    chat: Chat, budget: int, settings: WindowSettings, tally: Tally, wanted: dict[int, Moment]
) -> None:
    """One conversation at one budget, before each of its replies."""
    whole = chat.prompt_tokens + budget
    window = whole * 10 // 8 + 10
    settings = settings._replace(reserve=int(window * settings.share) - whole)
    model = Counted([], context_tokens=window)
    engine = Engine(model, Catalogue(Registry()), lambda closed: chat.prompt, settings)
    conversation, clock, beside = Conversation(shelf=MemoryShelf()), Clock(), Baselines(chat)
    before: tuple[Message, ...] | None = None
    for place, events in events_of(chat):
        for event in events:
            conversation.apply(clock.stamped(event))
        needed = wanted[place].needed
        tally.needed += len(needed)
        for name, groups in (("tail", True), ("cut", False)):
            begin = beside.begin(place, budget, groups=groups)
            tally.present[name] += beside.present(needed, begin, place)
            tally.sent[name] += chat.prompt_tokens + sum(chat.sizes[begin:place])
            tally.invalid[name] += not check_pairing(chat.messages[begin:place]).valid
        tally.renders += 1
        began = time.perf_counter()
        try:
            rendered = _now(engine, conversation)
        except LimitError:
            tally.refused += 1
            before = None
            continue
        tally.seconds.append(time.perf_counter() - began)
        if rendered.sunk:
            tally.prunes += 1
            conversation.apply(clock.stamped(_changed(rendered)))
        messages = rendered.messages
        tally.sent["engine"] += rendered.used
        tally.invalid["engine"] += not _is_valid(messages, rendered.used, whole)
        if needed:
            shown = "\n".join(map(plain, messages[1:]))
            tally.present["engine"] += sum(one in shown for one in needed)
        if before is not None:
            tally.reuse.append(repeated(((), before), ((), messages)))
        before = messages


def _now(engine: Engine, conversation: Conversation) -> Rendered:
    """The render, which waits for nothing here."""
    try:
        engine.render(conversation).send(None)
    except StopIteration as done:
        return done.value
    raise SystemExit("a render waited")


def _changed(rendered: Rendered) -> ContextChanged:
    """The event that the loop would write down."""
    return ContextChanged(
        reason="pruned",
        used=rendered.used,
        budget=rendered.budget,
        reserve=rendered.reserve,
        sunk=list(rendered.sunk),
        markers=list(rendered.markers),
        ledger=rendered.ledger,
    )


def _is_valid(messages: Sequence[Message], used: int, budget: int) -> bool:
    """Calls and results fit together, roles alternate, and it is within the budget."""
    alternate = all(one.role != other.role or one.role == "tool" for one, other in pairwise(messages))
    return check_pairing(messages).valid and alternate and used <= budget


def measure(
    name: str, chats: Sequence[Chat], budgets: Sequence[int], settings: WindowSettings
) -> dict[int, Tally]:
    """One set at all budgets; its table is printed."""
    tallies: dict[int, Tally] = {}
    found = [moments(chat) for chat in chats]
    print(f"\n{name}: {len(chats)} conversations, {sum(chat.tokens for chat in chats)} tokens")
    print("| budget | needed | engine % | tail % | cut % | recovered % | invalid (cut) | prunes | refused |")
    print("|---|---|---|---|---|---|---|---|---|")
    for budget in budgets:
        tally = Tally()
        for chat, wanted in zip(chats, found, strict=True):
            if budget < chat.tokens - chat.prompt_tokens:
                replay(chat, budget, settings, tally, wanted)
        if tally.renders:
            tallies[budget] = tally
            print(row(budget, tally))
    return tallies


def row(budget: int, tally: Tally) -> str:
    """One line of the table."""
    shares = [100 * tally.present[system] / max(tally.needed, 1) for system in SYSTEMS]
    cells = [*(f"{share:.1f}" for share in shares), f"{recovered([tally]):.0f}"]
    cells += [f"{tally.invalid['engine']} ({tally.invalid['cut']})", str(tally.prunes), str(tally.refused)]
    return f"| {budget} | {tally.needed} | {' | '.join(cells)} |"


def recovered(tallies: Sequence[Tally]) -> float:
    """Percent of what the tail loses that the engine still has."""
    lost = sum(one.needed - one.present["tail"] for one in tallies)
    return 100 * sum(one.present["engine"] - one.present["tail"] for one in tallies) / lost if lost else 100.0


def main() -> int:
    """Measure, print the tables, end with one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer conversations and budgets")
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "transcripts")
    parser.add_argument("--without", action="append", default=[], choices=(*OWN, *OF_MEMORY))
    parser.add_argument("--set", default="", help="only sets whose name has this in it")
    parser.add_argument("--setting", action="append", default=[], help="a setting of the window, name=number")
    given = parser.parse_args()
    settings = WindowSettings(
        **{name: float(value) for name, value in (one.split("=") for one in given.setting)}
    )
    settings = settings._replace(**{f"{name}_share": 0.0 for name in given.without if name in OWN})
    for name in set(given.without) - set(OWN):
        print(f"without {name}: no change, since recordings are replayed without a memory")
    tokens.encoder()
    sets: dict[str, dict[int, Tally]] = {}
    for path in sorted(given.data.glob("*.jsonl")):
        if given.set in path.stem:
            chats = chats_in(path)
            chats = chats[:: max(len(chats) // 25, 1)] if given.quick else chats
            budgets = BUDGETS[::3] if given.quick else BUDGETS
            sets[path.stem] = measure(path.stem, chats, budgets, settings)
    print(json.dumps(summary(sets)))
    return 0


def summary(sets: dict[str, dict[int, Tally]]) -> dict[str, Any]:
    """The figures under the names of the benchmark table, and whether they meet its targets."""
    every = [tally for tallies in sets.values() for tally in tallies.values()]
    below = [
        [name, budget]
        for name, tallies in sets.items()
        for budget, tally in tallies.items()
        if tally.present["engine"] < tally.present["tail"]
    ]
    reuse = 100 * statistics.median(share for tally in every for share in tally.reuse)
    seconds = [one for tally in every for one in tally.seconds]
    said: dict[str, Any] = {
        "invalid": sum(tally.invalid["engine"] for tally in every),
        "budgets_below_tail": len(below),
        "below": below,
        "recovered_percent": round(recovered(every), 1),
        "recovered_by_set": {name: round(recovered([*one.values()]), 1) for name, one in sets.items()},
        "prefix_reuse": round(reuse, 1),
        "ms_per_render": round(1000 * statistics.fmean(seconds), 3),
        "ms_per_render_median": round(1000 * statistics.median(seconds), 3),
        "renders": sum(tally.renders for tally in every),
        "refused": sum(tally.refused for tally in every),
        "prompt_tokens": {system: sum(tally.sent[system] for tally in every) for system in SYSTEMS},
    }
    met = all(said[name] >= least for name, least in TARGETS.items())
    said["ok"] = met and not said["invalid"] and not below
    return said


if __name__ == "__main__":
    sys.exit(main())
