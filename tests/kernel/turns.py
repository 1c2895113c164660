"""A whole turn in memory: the real loop, gate and calls around a scripted model."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from limnos.context.budget import WindowSettings
from limnos.context.engine import Engine
from limnos.kernel.approvals import Gate, GateRules, GateSettings
from limnos.kernel.calls import Calls, Toolset
from limnos.kernel.cancel import Cancel
from limnos.kernel.conversation import Conversation
from limnos.kernel.events import Event, TurnFinished, TurnStarted
from limnos.kernel.limits import Caps, Meter
from limnos.kernel.loop import Loop
from limnos.kernel.messages import Arguments, ToolCall
from limnos.kernel.model import Usage
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.seams import Approver, Principal
from limnos.kernel.stages import Handler, Pipeline
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Output, Tool, ToolContext
from limnos.kernel.turn import Parts, Turn
from limnos.kernel.units import MemoryShelf
from limnos.providers.scripted import Scripted, ScriptStep
from limnos.sdk.schema import SchemaValidator
from limnos.testing.doubles import CountedIds, FixedClock, FixedFolder, MemoryBlobs, MemoryLog, MemorySpending


def call(name: str, call_id: str = "", /, **arguments: Any) -> ToolCall:
    """A call as a model makes it."""
    return ToolCall(call_id or f"{name}-{len(arguments)}", name, arguments)


def step(text: str = "", *calls: ToolCall, **more: Any) -> ScriptStep:
    """A reply of the script."""
    return ScriptStep(text, calls, **{"finish": "tool_calls" if calls else "stop", **more})


@dataclass
class Ran:
    """What a recording tool saw."""

    order: list[str] = field(default_factory=list)


def echo_tool(ran: Ran, name: str = "echo", **flags: Any) -> Tool:
    """A tool that says what it was given and remembers that it ran."""

    async def execute(arguments: Arguments, context: ToolContext) -> Output:
        ran.order.append(f"{name}:{arguments.get('text', '')}")
        return Output(f"echo {arguments.get('text', '')}")

    schema = {"type": "object", "properties": {"text": {"type": "string", "description": "what to say"}}}
    return Tool(name, f"{name} says its text", schema, flags.pop("execute", execute), **flags)


@dataclass
class Setting:
    """Everything around one session; fields can be replaced before `run`."""

    model: Scripted
    tools: Sequence[Tool] = ()
    approver: Approver | None = None
    gate: GateSettings = field(default_factory=GateSettings)
    handlers: Sequence[Handler] = ()
    caps: Caps = field(default_factory=Caps)
    rules: GateRules | None = None
    inline_characters: int = 60_000
    window: WindowSettings = field(default_factory=WindowSettings)
    prices: Callable[[str, Usage], tuple[Decimal, str]] = lambda model, usage: (Decimal(0), "USD")

    def __post_init__(self) -> None:
        self.log = MemoryLog()
        self.heard: list[Event] = []
        self.clock = FixedClock()
        self.blobs = MemoryBlobs()
        self.conversation = Conversation(shelf=MemoryShelf())
        self.stream = EventStream("s1", self.log, self.clock, self.conversation)
        self.stream.listen(self.heard.append)
        self.spending = MemorySpending()
        self.cancel = Cancel(grace_seconds=0.5)
        self.registry = Registry()
        for tool in self.tools:
            self.registry.register(tool)
        self.catalogue = Catalogue(self.registry, ("kernel",), ("blocks",))
        ids = CountedIds()
        gate = Gate(self.gate, self.approver, self.stream, ids, self.rules)
        toolset = Toolset(
            self.registry,
            self.catalogue,
            SchemaValidator(),
            self.blobs,
            FixedFolder(),
            self.inline_characters,
        )
        stages = Pipeline(self.handlers)
        calls = Calls(toolset, gate, stages, self.stream)
        window = Engine(self.model, self.catalogue, lambda closed: "system", self.window)
        self.loop = Loop(Parts(self.model, window, calls, stages, self.stream, ids, 1024))

    def turn(self, text: str = "hello", principal: str = "owner") -> Turn:
        """Begin a turn, as the runner does."""
        self.stream.turn, self.stream.step = self.conversation.turn + 1, 0
        self.stream.emit(
            TurnStarted(
                input=text,
                source="test",
                principal=principal,
                client_id=f"m{self.stream.turn}",
                persona="default",
                model=self.model.name,
                mode=self.gate.mode,
            )
        )
        meter = Meter(self.caps, self.clock, self.prices, self.spending)
        return Turn(text, "test", Principal(principal), meter, self.cancel)

    def run(self, text: str = "hello", principal: str = "owner") -> TurnFinished:
        """Run one turn to its end."""
        return asyncio.run(self.loop.run(self.turn(text, principal)))

    def events(self, kind: str) -> list[Any]:
        """What was written, of one type."""
        return [event for event in self.log.events if event.type == kind]
