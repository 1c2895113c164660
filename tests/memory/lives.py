"""Sessions as they are lived: real logs, written by the real stream, by a seeded chance."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limnos.kernel.conversation import Conversation, fold
from limnos.kernel.event_base import Event
from limnos.kernel.events import (
    AgentFinished,
    AgentStarted,
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProposed,
    CallStarted,
    ContextChanged,
    FileChanged,
    InputInjected,
    JobChanged,
    MemoryRecalled,
    PlanUpdated,
    ReplyFinished,
    SessionChanged,
    SessionStarted,
    StepFinished,
    StepsRecalled,
    TurnFinished,
    TurnStarted,
    UnitPinned,
)
from limnos.kernel.stream import AgentStream, EventStream
from limnos.kernel.units import MemoryShelf, Recalled, Shelf, Step
from limnos.memory.memory import Memory
from limnos.store.audit import AuditLog, read_history
from limnos.testing.doubles import FixedClock

_WORDS = """
parser lexer token budget window crash kernel memory cold recall prune ledger 数据库 记忆 会话 天气 north
harbour cedar lantern copper violin meadow glacier orchid saddle walnut tundra pepper marble falcon
"""
WORDS = _WORDS.split()


class Life:
    """A session that runs: its log under `folder`, which is that of a persona, and its stream."""

    def __init__(
        self,
        folder: Path,
        session: str,
        seed: int = 1,
        clock: FixedClock | None = None,
        memory: Memory | None = None,
    ) -> None:
        self.clock = clock or FixedClock()
        self.chance = random.Random(seed)
        self.session = session
        self.memory = memory
        self.path = path_of(folder, session)
        shelf: Shelf = MemoryShelf() if memory is None else memory.shelf(session, self.path)
        self.log = AuditLog(self.path)
        self.stream = EventStream(session, self.log, self.clock, Conversation(shelf=shelf))
        self._calls = 0
        if memory is not None:
            memory.attach(self.stream, self.path)
        self.emit(SessionStarted(persona="main", cwd="/work", program="limnos 0"))

    @property
    def conversation(self) -> Conversation:
        return self.stream.conversation

    def emit(self, event: Event) -> Any:
        self.clock.move(1)
        return self.stream.emit(event)

    def begin(self, text: str, principal: str = "owner") -> None:
        self.stream.turn, self.stream.step = self.conversation.turns + 1, 0
        self.emit(
            TurnStarted(
                input=text, source="test", principal=principal, client_id=f"m{self.stream.turn}",
                persona="main", model="m", mode="auto",
            )
        )  # fmt: skip

    def end(self, text: str = "") -> None:
        if text:
            self.step(text)
        self.emit(TurnFinished(reason="done", exit=0, steps=1, calls=0, ms=1, tokens=1))

    def step(
        self,
        text: str,
        *calls: tuple[str, dict[str, Any], str],
        complete: bool = True,
        origin: str = "kernel",
        trust: str = "trusted",
        block: str | None = None,
        stream: EventStream | None = None,
    ) -> Any:
        """One step; each call is its tool, its arguments and what it returned. Returns its last event."""
        stream = stream or self.stream
        stream.step += 1
        self.clock.move(1)
        names = []
        if calls:
            stream.emit(ReplyFinished(text=text))
        for tool, arguments, result in calls:
            self._calls += 1
            name = f"c{self._calls}"
            names.append(name)
            stream.emit(CallProposed(call=name, tool=tool, arguments=arguments))
            stream.emit(CallStarted(call=name, hash="h", arguments=arguments))
            stream.emit(
                CallFinished(
                    call=name, tool=tool, outcome="done", text=result, origin=origin, trust=trust, block=block
                )
            )
        return stream.emit(StepFinished(text=text, calls=names, complete=complete))

    def turn(self, said: str, answer: str) -> None:
        self.begin(said)
        self.end(answer)

    def sink(self, ids: Sequence[str]) -> None:
        self.emit(ContextChanged(reason="pruned", used=1, budget=1, reserve=1, sunk=list(ids), ledger="a: b"))

    def recall(self, ids: Sequence[str]) -> None:
        self.emit(StepsRecalled(units=list(ids), call="c1"))

    def agent(self, task: str, answer: str, *calls: tuple[str, dict[str, Any], str], **more: Any) -> None:
        """A sub-agent of one step, begun by a call of the session's own agent."""
        self.stream.step += 1
        self._calls += 1
        call = f"c{self._calls}"
        self.stream.emit(ReplyFinished(text="I share it out."))
        self.stream.emit(CallProposed(call=call, tool="spawn_agent", arguments={"task": task}))
        self.stream.emit(CallStarted(call=call, hash="h", arguments={"task": task}))
        below = AgentStream(self.stream, self.conversation.agents.take_path(""))
        below.emit(AgentStarted(call=call, role="worker", task=task, model="m", max_steps=5))
        self.step(answer, *calls, stream=below, **more)
        below.emit(AgentFinished(call=call, role="worker", reason="done", steps=1, calls=0, tokens=1))
        self.stream.emit(CallFinished(call=call, tool="spawn_agent", outcome="done", text=answer))
        self.stream.emit(StepFinished(text="I share it out.", calls=[call]))

    def some(self, count: int = 8) -> str:
        return " ".join(self.chance.choice(WORDS) for _ in range(self.chance.randrange(1, count)))

    def movable(self) -> list[str]:
        """What may sink now: closed units of turns before this one."""
        units = [unit for unit in self.conversation.units if not (isinstance(unit, Step) and unit.open)]
        return [unit.id for unit in units if unit.turn < self.stream.turn or not self.conversation.turn_open]

    def sunk(self, among: int) -> list[str]:
        """Some of the units that are not in the window."""
        standing = {unit.id for unit in self.conversation.units}
        every = [f"#{seq}" for seq in self.begun if f"#{seq}" not in standing]
        return self.chance.sample(every, min(len(every), among))

    def random_turn(self) -> None:
        """A turn of anything that happens in one."""
        chance = self.chance
        self.begin(self.some(20), chance.choice(["owner", "owner", "owner", "chat:bob"]))
        if chance.random() < 0.3:
            trust = chance.choice(["trusted", "untrusted"])
            hits = [{"unit": "old#3", "why": "[dense]", "score": 1.0, "trust": trust}]
            self.emit(
                MemoryRecalled(query="q", text="[memory] a copy " + self.some(), hits=hits, trust=trust)
            )
        for _ in range(chance.randrange(0, 4)):
            self._random_step()
        self._random_moves()
        self.end(self.some(30))
        if chance.random() < 0.2:
            self.emit(SessionChanged(title=self.some(3)))

    def _random_step(self) -> None:
        chance, kind = self.chance, self.chance.randrange(7)
        if kind == 0:
            self.step("half a", complete=False)
            self.stream.step -= 1
        elif kind == 1:
            self.agent(
                self.some(), self.some(), ("fetch", {"url": "http://x"}, self.some()), trust="untrusted"
            )
        elif kind == 2:
            text = self.some()
            self.emit(InputInjected(input=text, source="t", principal="owner", client_id=f"i{self._calls}"))
        elif kind == 3:
            self.emit(FileChanged(path=f"src/{self.some(2)}.py", cause="c1", after="b" + "0" * 32))
            self.emit(JobChanged(job="job1", command="make", state=chance.choice(["running", "ended"])))
            self._ask(chance.choice(["always", "once"]))
        else:
            calls = [
                ("read_file", {"path": f"src/v{chance.randrange(99)}.py"}, self.some(50)) for _ in range(2)
            ]
            origin, trust = chance.choice([("file:/work", "trusted"), ("web:evil.example", "untrusted")])
            self.step(self.some(), *calls[: chance.randrange(1, 3)], origin=origin, trust=trust)

    def _ask(self, answer: str) -> None:
        rule = {"effect": "allow", "tool": "run", "match": "make*"} if answer == "always" else None
        asked = {"approval": "a1", "call": "c1"}
        self.emit(ApprovalAsked(**asked, tool="run", arguments={}, hash="h", reasons=["r"], cwd="/work"))
        self.emit(ApprovalAnswered(**asked, answer=answer, principal="owner", source="t", rule=rule))

    def _random_moves(self) -> None:
        chance, movable = self.chance, self.movable()
        if movable and chance.random() < 0.5:
            self.sink(chance.sample(movable, chance.randrange(1, len(movable) + 1)))
        if (sunk := self.sunk(3)) and chance.random() < 0.5:
            self.recall(sunk)
        if movable and chance.random() < 0.2:
            self.emit(UnitPinned(unit=chance.choice(movable)))
        if chance.random() < 0.3:
            self.emit(PlanUpdated(items=[{"text": self.some(), "state": "active"}]))

    @property
    def begun(self) -> list[int]:
        """The numbers of all units of the session's own agent up to now."""
        taken = {unit.seq for unit in self._whole().units if not isinstance(unit, Recalled)}
        return sorted(taken)

    def _whole(self) -> Conversation:
        return whole(self.path)

    def close(self) -> None:
        if self.memory is not None:
            self.memory.detach(self.session)
        self.log.close()


def whole(path: Path) -> Conversation:
    """The conversation of a log with nothing moved."""
    return fold(read_history(path).events)


def path_of(folder: Path, session: str) -> Path:
    return folder / "sessions" / "2026" / "03" / f"20260314T203104-{session}.jsonl"
