"""The conversation as a fold over events: what the model may see of a session, unit by unit.

A *step* (the reply and the results of its calls) is never split; a user message is a unit of its own. The
same fold serves a running session and one that is loaded from disk, so both are the same by construction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from limnos.kernel.agents import Agents
from limnos.kernel.events import (
    AgentFinished,
    AgentStarted,
    CallFinished,
    CallProposed,
    CallStarted,
    ContextChanged,
    Event,
    InputInjected,
    MemoryRecalled,
    PlanUpdated,
    ReplyFinished,
    SessionChanged,
    StepFinished,
    StepsRecalled,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
    UnitPinned,
    UsageRecorded,
)
from limnos.kernel.messages import (
    ErrorReason,
    Outcome,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolError,
    ToolResult,
)
from limnos.kernel.units import Said, Shelf, Step, Unit
from limnos.kernel.window_state import WindowState

TITLE_CHARACTERS = 80


@dataclass(slots=True)
class OpenTurn:
    """A turn that was begun: how far it is, what it used, what it is about, at which level it runs."""

    turn: int = 0
    step: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    calls: int = 0
    about: str = ""
    level: int = 3


class Conversation:
    """The units of one session in time order, the plan, and what the last turn used and left open.

    `last` is the turn that ran last, `suspended` are those that were set aside, the newest at the end;
    `turns` is the highest number that a turn has. `agent` is the path of the sub-agent whose conversation it
    is, empty for that of the session; `agents` are the sub-agents that it has heard of.

    With a `shelf` the units are those of the window: what sinks is put there, what is recalled comes from
    there. Without one they are all units of the session.
    """

    def __init__(self, agent: str = "", shelf: Shelf | None = None) -> None:
        self.agent = agent
        self.shelf = shelf
        self.window = WindowState()
        self.agents = Agents()
        self.units: list[Unit] = []
        self.plan: Sequence[Mapping[str, Any]] = ()
        self.title = ""
        self.last = OpenTurn()
        self.turns = 0
        self.turn_open = False
        self.suspended: list[OpenTurn] = []
        self.last_seq = 0
        self.client_ids: set[str] = set()
        self.call_ids: set[str] = set()

    @property
    def turn(self) -> int:
        """The number of the turn that ran last."""
        return self.last.turn

    @property
    def step(self) -> int:
        """The number of that turn's last step."""
        return self.last.step

    @property
    def unfinished(self) -> bool:
        """Whether a turn has no end yet."""
        return self.turn_open or bool(self.suspended)

    def apply(self, event: Event) -> None:
        """Take one more event; O(1), whatever the length of the session."""
        self.last_seq = max(self.last_seq, event.seq)
        if event.agent != self.agent:
            self._overhear(event)
            return
        match event:
            case TurnStarted():
                self._begin_turn(event)
            case InputInjected():
                self._hear(event)
            case ContextChanged() | MemoryRecalled() | StepsRecalled() | UnitPinned():
                self.window.apply(event, self.units, self.shelf)
            case ReplyFinished():
                self._begin_step(event, _parts(event.text, event.reasoning))
            case CallProposed():
                self._propose(event)
            case CallStarted():
                self._current_step(event).started.add(event.call)
                self.last.calls += 1
            case CallFinished():
                self._current_step(event).results[event.call] = result_of(event)
            case StepFinished():
                self._finish_step(event)
            case _:
                self._note(event)

    def _overhear(self, event: Event) -> None:
        """What sub-agents say and do is theirs; their calls' ids are taken, what they use counts."""
        self.agents.apply(event)
        match event:
            case CallProposed():
                self.call_ids.add(event.call)
            case UsageRecorded():
                self._use(event)
            case _:
                pass

    def _use(self, event: UsageRecorded) -> None:
        self.last.tokens += event.prompt_tokens + event.completion_tokens
        self.last.cost += Decimal(event.cost)

    def _note(self, event: Event) -> None:
        match event:
            case SessionChanged() if event.title is not None:
                self.title = event.title
            case PlanUpdated():
                self.plan = event.items
            case UsageRecorded():
                self._use(event)
            case AgentStarted():
                self.last, self.turn_open = OpenTurn(event.turn, about=title_of(event.task)), True
                self._say(event, event.task)
            case AgentFinished():
                self.turn_open = False
            case TurnSuspended():
                self.suspended.append(self.last)
                self.turn_open = False
            case TurnResumed():
                self._resume(event)
            case TurnFinished() if any(one.turn == event.turn for one in self.suspended):
                self.suspended = [one for one in self.suspended if one.turn != event.turn]
            case TurnFinished():
                self.turn_open = False
            case _:
                pass

    @property
    def open_step(self) -> Step | None:
        """The step whose results are not all there, if any."""
        last = self.units[-1] if self.units else None
        return last if isinstance(last, Step) and last.open else None

    def _begin_turn(self, event: TurnStarted) -> None:
        self.last = OpenTurn(event.turn, about=title_of(event.input), level=event.level)
        self.turns, self.turn_open = max(self.turns, event.turn), True
        self.window.begin_turn(event.turn)
        self._hear(event, f"\n\n[this goes before {event.interrupts}]" if event.interrupts else "")
        self.title = self.title or title_of(event.input)

    def _resume(self, event: TurnResumed) -> None:
        for one in self.suspended:
            if one.turn == event.turn:
                self.last = one
        self.suspended = [one for one in self.suspended if one.turn != event.turn]
        self.turn_open = True
        if event.about:
            self._say(event, f"[go on now with what was set aside: {event.about}]")

    def _hear(self, event: TurnStarted | InputInjected, note: str = "") -> None:
        self.client_ids.add(event.client_id)
        self._say(event, event.input + note, event.names)

    def _say(self, event: Event, text: str, names: Sequence[str] = ()) -> None:
        principal = "agent" if isinstance(event, AgentStarted) else getattr(event, "principal", "owner")
        self.units.append(Said(event.seq, event.turn, event.time, text, names, principal))

    def _begin_step(self, event: Event, parts: tuple[Part, ...]) -> Step:
        last = self.units[-1] if self.units else None
        if isinstance(last, Step) and not last.complete and last.turn == event.turn:
            self.units.pop()  # a reply that broke off is replaced by its second try
        step = Step(event.seq, event.turn, event.step, event.time, parts)
        self.last.step = event.step
        self.units.append(step)
        return step

    def _current_step(self, event: Event) -> Step:
        return self.open_step or self._begin_step(event, ())

    def _propose(self, event: CallProposed) -> None:
        step = self._current_step(event)
        self.call_ids.add(event.call)
        step.calls.append(
            ToolCall(event.call, event.tool, event.arguments, event.raw or "", event.parse_error, event.cut)
        )
        step.tools.append(event.tool)

    def _finish_step(self, event: StepFinished) -> None:
        parts = _parts(event.text, event.reasoning)
        step = self.open_step
        if step is None:
            step = self._begin_step(event, parts)
        step.parts = parts
        step.complete, step.open = event.complete, False


def fold(events: Iterable[Event], last_seq: int = 0, shelf: Shelf | None = None) -> Conversation:
    """The conversation that `events` stand for; with a `shelf` only what the window holds of it.

    `last_seq` is the highest number that was given, also to an event that this version does not know.
    """
    conversation = Conversation(shelf=shelf)
    for event in events:
        conversation.apply(event)
    conversation.last_seq = max(conversation.last_seq, last_seq)
    return conversation


def title_of(text: str) -> str:
    """What a session is called after its first input: the beginning of its first line."""
    return next(iter(text.strip().splitlines()), "")[:TITLE_CHARACTERS]


def _parts(text: str, reasoning: Sequence[Mapping[str, Any]]) -> tuple[Part, ...]:
    thoughts = (
        Reasoning(str(item.get("text", "")), item.get("signature"), str(item.get("model", "")))
        for item in reasoning
    )
    return (*thoughts, Text(text)) if text else tuple(thoughts)


def result_of(event: CallFinished) -> ToolResult:
    """The result that a record of a finished call stands for."""
    error = None
    if event.error is not None:
        error = ToolError(
            cast("ErrorReason", event.error.get("reason", "failed")),
            str(event.error.get("detail", "")),
            str(event.error.get("hint", "")),
        )
    return ToolResult(
        event.call, cast("Outcome", event.outcome), (Text(event.text),) if event.text else (), error
    )
