"""What a session file says a model and its tools did, as a model and tools that do it again."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from limnos.agent.stored_rules import rule_of
from limnos.kernel.approvals import NOBODY, Proposal
from limnos.kernel.cancel import Cancel
from limnos.kernel.conversation import result_of
from limnos.kernel.deciding import Standing, Verdict
from limnos.kernel.errors import LimitError, ModelError
from limnos.kernel.events import (
    TURN_ENDS,
    AgentFinished,
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProposed,
    CallStarted,
    Event,
    InputInjected,
    ReplyFinished,
    StepFinished,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
    UsageRecorded,
)
from limnos.kernel.findings import Findings
from limnos.kernel.messages import Arguments, ToolCall, text_of
from limnos.kernel.model import Delta, Finish, FinishReason, ReasoningDelta, Request, TextDelta, Usage
from limnos.kernel.registry import Registry
from limnos.kernel.seams import Answer, Question, Rule, parse_principal
from limnos.kernel.tools import Output, Preview, Tool, ToolContext, ToolFailure

ORDER_S = 1.0


class RecordEnds(BaseException):
    """The recorded process died here; what would come next is not known."""


@dataclass(slots=True)
class RecordedStep:
    """One reply as it was recorded. `injected` are the inputs that joined the turn right after it."""

    text: str
    reasoning: Sequence[Mapping[str, Any]]
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    finish: str = "stop"
    usage: Usage | None = None
    injected: list[InputInjected] = field(default_factory=list[InputInjected])


@dataclass(slots=True)
class Episode:
    """The events from a turn's start, or its continuation, up to the next one; not those of its sub-agents.

    `changing` are the calls that began a sub-agent which changed something.
    """

    head: TurnStarted | TurnResumed
    events: list[Event]
    changing: set[str] = field(default_factory=set[str])

    def take(self, event: Event) -> None:
        """Add an event. What a sub-agent did is not done again: its answer is a recorded result."""
        if not event.agent:
            self.events.append(event)
        elif isinstance(event, AgentFinished) and event.had_effects:
            self.changing.add(event.call)

    @property
    def end(self) -> TurnFinished | None:
        """The terminal event; None when the process died first, whatever was written about it later."""
        if any(isinstance(event, StepFinished) and event.finish == "interrupted" for event in self.events):
            return None
        return next((event for event in reversed(self.events) if isinstance(event, TurnFinished)), None)

    def stop(self, cancel: Cancel) -> None:
        """Stop the turn as it was stopped then."""
        cancel.request("terminated" if self.end and self.end.reason == "terminated" else "stopped")

    async def stop_here(self, cancel: Cancel) -> None:
        """Stop the turn in the middle of this work; the cancellation arrives here."""
        self.stop(cancel)
        await asyncio.Event().wait()

    @property
    def suspended_by(self) -> str:
        """The id of the input that the turn was set aside for; empty when it was not."""
        return next((event.by for event in self.events if isinstance(event, TurnSuspended)), "")

    def injected_first(self) -> list[InputInjected]:
        """The inputs that joined before the first reply."""
        first = takewhile(lambda event: not isinstance(event, ReplyFinished | StepFinished), self.events)
        return [event for event in first if isinstance(event, InputInjected)]

    def partial(self) -> str:
        """What the reply had said when the turn was cut short; it stands before the closing note."""
        closing = [
            event for event in self.events if isinstance(event, StepFinished) and event.finish in TURN_ENDS
        ]
        if not closing or self.end is None:
            return ""
        note = f"[{self.end.message or self.end.reason}]"
        text = closing[-1].text.removesuffix(note)
        return text.removesuffix("\n") if text != closing[-1].text else ""

    def steps(self) -> deque[RecordedStep]:
        """The replies in order. The closing note of a turn that was cut short is none."""
        steps: deque[RecordedStep] = deque()
        usage: Usage | None = None
        current: RecordedStep | None = None
        for event in self.events:
            match event:
                case UsageRecorded():
                    usage = Usage(event.prompt_tokens, event.completion_tokens, event.cached_tokens)
                case ReplyFinished():
                    current = RecordedStep(event.text, event.reasoning, finish=event.finish, usage=usage)
                    steps.append(current)
                case CallProposed() if current is not None:
                    current.calls.append(
                        ToolCall(
                            event.call,
                            event.tool,
                            event.arguments,
                            event.raw or "",
                            event.parse_error,
                            event.cut,
                        )
                    )
                case StepFinished():
                    if current is None and event.finish not in TURN_ENDS:
                        steps.append(
                            RecordedStep(event.text, event.reasoning, finish=event.finish, usage=usage)
                        )
                    current = None
                case InputInjected() if steps:
                    steps[-1].injected.append(event)
                case _:
                    pass
        return steps


class RecordedModel:
    """Says again what was said. When the record has no more, the turn ends as it ended then."""

    def __init__(self, episode: Episode, cancel: Cancel, inbox: list[InputInjected], name: str) -> None:
        self._episode = episode
        self._steps = episode.steps()
        self._partial = episode.partial()
        self._cancel = cancel
        self._inbox = inbox
        self.name = name
        self.context_tokens = 100_000_000

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model`."""
        if not self._steps:
            if self._partial:
                yield TextDelta(self._partial)
            await self._finish_as_recorded()
        step = self._steps.popleft()
        for thought in step.reasoning:
            yield ReasoningDelta(str(thought.get("text", "")), thought.get("signature"))
        if step.text:
            yield TextDelta(step.text)
        if step.usage is not None:
            yield step.usage
        self._inbox.extend(step.injected)
        yield Finish(_reason(step.finish), tuple(step.calls))

    async def _finish_as_recorded(self) -> None:
        end = self._episode.end
        if self._episode.suspended_by:
            self._cancel.suspend(self._episode.suspended_by)
            await asyncio.Event().wait()
        if end is None:
            raise RecordEnds
        if end.reason in ("stopped", "terminated"):
            await self._episode.stop_here(self._cancel)
        error = LimitError if end.reason == "limit" else ModelError
        raise error(end.message, end.fix)

    def count_tokens(self, text: str) -> int:
        """See `Model`."""
        return len(text) // 4

    async def close(self) -> None:
        """See `Model`."""


def _reason(text: str) -> FinishReason:
    known: dict[str, FinishReason] = {
        "tool_calls": "tool_calls", "length": "length", "content_filter": "content_filter",
        "error": "error", "incomplete": "incomplete",
    }  # fmt: skip
    return known.get(text, "stop")


class RecordedTools:
    """The tools of the record, with today's schemas and flags where they still exist."""

    def __init__(self, episode: Episode, cancel: Cancel, today: Registry) -> None:
        self._episode = episode
        self._finished = {event.call: event for event in episode.events if isinstance(event, CallFinished)}
        self._asked = deque(event for event in episode.events if isinstance(event, ApprovalAsked))
        self._again = {call: asyncio.Event() for call in self._finished}
        self._patience_s = ORDER_S
        self._cancel = cancel
        self.registry = Registry()
        for _, tool in today.items():
            self.registry.register(
                tool._replace(
                    execute=self.execute,
                    preview=self.preview,
                    findings=None,
                    preflight=None,
                    sandbox=None,
                    state=None,
                    timeout_s=3600.0,
                )
            )
        ran = {event.call for event in episode.events if isinstance(event, CallStarted)}
        for event in episode.events:
            if isinstance(event, CallProposed) and event.call in ran:
                self._stand_in(event)

    def _stand_in(self, proposed: CallProposed) -> None:
        """Have a tool for a call that ran then, also when there is none of its name today."""
        if self.registry.get(proposed.tool) is None:
            self.registry.register(_unknown_tool(proposed, self))

    async def execute(self, arguments: Arguments, context: ToolContext) -> Output:
        """Return what was recorded for this call."""
        event = self._finished.get(context.call)
        if event is None or event.outcome == "unknown":
            raise RecordEnds
        try:
            await self._wait_for_those_before(context.call)
        except asyncio.CancelledError:
            await self._wait_for_those_before(context.call)  # what was stopped side by side, too
            raise
        if event.outcome == "cancelled":
            await self._episode.stop_here(self._cancel)
        result = result_of(event)
        if (
            result.error is not None
            and result.error.reason != "timeout"
            and not event.text
            and event.exit is None
        ):
            raise ToolFailure(result.error.reason, result.error.detail, result.error.hint)
        changed = context.call in self._episode.changing
        return Output(text_of(result.parts), event.summary, event.exit, result.error, event.origin, changed)

    def preview(self, arguments: Arguments) -> Preview:
        """The rule that the next recorded question offered."""
        return Preview(rule=rule_of(self._asked.popleft().rule) if self._asked else None)

    def hear(self, event: Event) -> None:
        """Listen to the replay: what ran side by side ends in the order of the record."""
        if isinstance(event, CallFinished) and event.call in self._again:
            self._again[event.call].set()

    async def _wait_for_those_before(self, call: str) -> None:
        try:
            async with asyncio.timeout(self._patience_s):
                for before in takewhile(lambda other: other != call, self._again):
                    await self._again[before].wait()
        except TimeoutError:
            self._patience_s = 0.0  # one that never comes is a divergence, found later: no more waiting


def _unknown_tool(event: CallProposed, tools: RecordedTools) -> Tool:
    effects = "external" if event.effects == "external" else "local" if event.effects == "local" else "none"
    return Tool(
        event.tool,
        "a tool of the record that is not here today",
        {"type": "object"},
        tools.execute,
        effects,
        preview=tools.preview,
    )


class RecordedJudge:
    """Decides as the record says: today's rules, programs and sandbox are not those of then."""

    def __init__(self, episode: Episode) -> None:
        self._asked = {event.call for event in episode.events if isinstance(event, ApprovalAsked)}
        self._started = {event.call for event in episode.events if isinstance(event, CallStarted)}
        self._finished = {event.call: event for event in episode.events if isinstance(event, CallFinished)}
        self._died = episode.end is None

    def _closed_later(self, finished: CallFinished) -> bool:
        """Whether the process died before this call began, and the next one closed it."""
        return self._died and finished.outcome in ("unknown", "cancelled")

    def __call__(self, proposal: Proposal, rules: Sequence[Rule], standing: Standing) -> Verdict:
        """See `kernel.approvals.Judge`."""
        nothing = Findings(())
        if proposal.call in self._asked:
            return Verdict("ask", nothing)
        finished = self._finished.get(proposal.call)
        if proposal.call in self._started or finished is None or self._closed_later(finished):
            return Verdict("allow", nothing)
        error = result_of(finished).error
        if error is None or error.detail == NOBODY.detail:
            return Verdict("ask", nothing)
        outcome = "failed" if finished.outcome == "failed" else "denied"
        return Verdict("deny", Findings((), denied=error), outcome=outcome)


class RecordedAnswers:
    """Gives the recorded answers again, in order."""

    def __init__(self, episode: Episode, cancel: Cancel) -> None:
        self._episode = episode
        self._answers = deque(event for event in episode.events if isinstance(event, ApprovalAnswered))
        self._cancel = cancel

    async def ask(self, question: Question) -> Answer:
        """See `kernel.seams.Approver`."""
        if not self._answers:
            raise RecordEnds
        event = self._answers.popleft()
        if event.answer == "expired":
            raise TimeoutError
        if event.answer == "cancelled":
            await self._episode.stop_here(self._cancel)
        principal = parse_principal(event.principal)
        return Answer(event.answer, event.reason, event.arguments, principal, event.source)


class RecordedIds:
    """The ids of the record's questions, in order."""

    def __init__(self, episode: Episode) -> None:
        self._approvals = [event.approval for event in episode.events if isinstance(event, ApprovalAsked)]
        self._made = 0

    def new(self, kind: str) -> str:
        """See `kernel.seams.Ids`."""
        self._made += 1
        return self._approvals.pop(0) if kind == "approval" and self._approvals else f"replayed{self._made}"
