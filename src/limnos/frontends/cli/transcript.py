"""The event stream as lines: what is printed for good, and what is still moving.

A fold over events and nothing else: two views that saw the same events look the same. While a question is
open everything but its answer is held back, so that nothing scrolls it away.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from limnos.frontends.cli.approvals import answered_line, question_lines
from limnos.frontends.cli.calls import Call, finished_lines, group_line, head, job_line, ran, tail_lines
from limnos.frontends.cli.children import Children
from limnos.frontends.cli.escapes import one_line, visible
from limnos.frontends.cli.look import CONTINUE, Look, continuing_by, error_lines
from limnos.frontends.cli.markdown import Block, Reader, render
from limnos.frontends.cli.meter import Meter
from limnos.frontends.cli.plugin_lines import plugin_line
from limnos.frontends.cli.spans import TEXT_INDENT, Line, Span, line
from limnos.frontends.cli.times import counted, duration, parse
from limnos.frontends.cli.waterline import moved_lines
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProgress,
    CallProposed,
    CallStarted,
    ContextChanged,
    Event,
    InputInjected,
    JobChanged,
    MemoryRecalled,
    PlanUpdated,
    PluginChanged,
    ReplyFinished,
    StageNote,
    StepFinished,
    StepsRecalled,
    TextDelta,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
    Warned,
)

Part: TypeAlias = Literal["", "you", "text", "call"]
_TAIL = 3
_LIVE_CHARACTERS = 8_000
_PLAN_SIGNS = {"done": "done", "active": "you"}


@dataclass(slots=True)
class _Running:
    proposed: CallProposed
    since: str
    tail: deque[str] = field(default_factory=lambda: deque[str](maxlen=_TAIL))
    fraction: float | None = None


@dataclass(slots=True)
class Transcript:
    """Lines of one session. `chat` adds the inputs and how each turn ended.

    `continue_with` is what goes on with the session: a command line where no slash command can be typed.
    """

    look: Look
    chat: bool = True
    continue_with: str = CONTINUE
    meter: Meter = field(default_factory=Meter)
    working: bool = False
    question: ApprovalAsked | None = None
    finished: TurnFinished | None = None
    answer: str = ""
    answers: list[str] = field(default_factory=list[str])
    _began: str = ""
    _told: tuple[int, int] = (0, 0)
    _proposed: dict[str, CallProposed] = field(default_factory=dict[str, CallProposed])
    _running: dict[str, _Running] = field(default_factory=dict[str, _Running])
    _reads: list[Call] = field(default_factory=list[Call])
    _reader: Reader = field(default_factory=Reader)
    _streamed: bool = False
    _last: Part = ""
    _refused: set[str] = field(default_factory=set[str])
    _outcomes: dict[str, int] = field(default_factory=dict[str, int])
    _children: Children = field(default_factory=Children)
    _held: list[Event] = field(default_factory=list[Event])

    @property
    def _commands(self) -> bool:
        """Whether a slash command may be named."""
        return self.chat and self.continue_with == CONTINUE

    def apply(self, event: Event) -> list[Line]:
        """Take one event; the lines it finishes."""
        if self.question is not None and not _answers(event, self.question):
            self._held.append(event)
            return []
        rows = self._apply(event)
        while self.question is None and self._held:
            rows += self._apply(self._held.pop(0))
        return rows

    def rest(self) -> None:
        """Nothing moves: what was read is the past, and the turn that was open waits for a person."""
        self.working, self.question = False, None
        self._running.clear()
        self._held.clear()

    def live(self, now: str) -> list[Line]:
        """What still moves: the open block and the running calls; `now` is ISO 8601."""
        if self.question is not None:
            return []
        rows = self._rendered([_end_of(block) for block in self._reader.pending()])
        rows = [()] * bool(rows and self._gap_before("text")) + rows
        for running in self._running.values():
            rows += self._running_rows(running, now)
        if self.working and not self._running and not self._streamed:
            seconds = _between(self._began, now)
            after = f"working  {duration(int(seconds) * 1000)}" if seconds >= 1 else "working"
            rows.append(line(Span(self.look.signs.spin(seconds), "accent"), f" {after}"))
        return rows

    def _apply(self, event: Event) -> list[Line]:
        self.meter.apply(event)
        if event.agent:
            return self._child(event)
        match event:
            case TurnStarted() | TurnSuspended() | TurnResumed() | InputInjected() | TurnFinished():
                return self._turn(event)
            case TextDelta():
                self._streamed = True
                self.answer += event.text
                return self._flush_reads() + self._text_rows(self._reader.feed(event.text))
            case ReplyFinished() | StepFinished():
                return self._reply(event)
            case ApprovalAsked() | ApprovalAnswered():
                return self._approval(event)
            case CallProposed() | CallStarted() | CallProgress() | CallFinished():
                return self._call(event)
            case _:
                return self._note(event)

    def _child(self, event: Event) -> list[Line]:
        """A sub-agent's step is one line; what a person must know or answer is shown as ever."""
        row = self._children.row(self.look, event)
        match event:
            case ApprovalAsked() | ApprovalAnswered():
                return self._approval(event)
            case Warned() | StageNote():
                return self._note(event)
            case _:
                return [*self._flush_reads(), *self._gap("call"), row] if row is not None else []

    def _turn(
        self, event: TurnStarted | TurnSuspended | TurnResumed | InputInjected | TurnFinished
    ) -> list[Line]:
        match event:
            case TurnStarted():
                self._begin(event)
                return [*self._gap("you"), *self._said(event.input)] if self.chat else []
            case TurnSuspended():
                rows = self._flush_reads() + self._close_text()
                return [*rows, line(Span("set aside for what is more urgent", "dim"))]
            case TurnResumed():
                self._begin(event)
                about = f": {one_line(event.about)}" if event.about else ""
                return [line(f"continued{about}")] if self.chat else []
            case InputInjected():
                rows = self._said(f"now: {event.input}")
                return [*self._flush_reads(), *self._gap("you"), *rows, *self._taken(event)]
            case TurnFinished():
                self.working, self.finished = False, event
                self._running.clear()
                if self.answer:
                    self.answers.append(self.answer)
                return self._flush_reads() + self._close_text() + (self._end(event) if self.chat else [])

    def _begin(self, event: Event) -> None:
        self.working, self.finished, self.answer, self._began = True, None, "", event.time
        self._proposed.clear()
        self._refused.clear()
        self._outcomes.clear()

    def _said(self, text: str) -> list[Line]:
        first, *more = visible(text).split("\n")
        return [self.look.signed("you", first), *(line("  ", row) for row in more)]

    def _taken(self, event: InputInjected) -> list[Line]:
        return [line(Span(f"  taken in before step {event.step + 1}", "dim"))] if event.step else []

    def _end(self, event: TurnFinished) -> list[Line]:
        if event.reason == "done":
            return []
        if event.reason in ("stopped", "terminated"):
            calls = ", ".join(
                f"{counted(count, 'call') if not place else count} {_CLOSED[kind]}"
                for place, (kind, count) in enumerate(self._outcomes.items())
            )
            text = f"{event.reason} after step {event.steps}" + (f": {calls}" if calls else "")
            return [line(f"{text}  next: {self.continue_with}")]
        if event.reason == "denied" and self._refused:  # the person's own no is no fault
            return [self.look.signed("idle", f"{event.message}  next: {event.fix}")]
        return error_lines(event.message or event.reason, continuing_by(event.fix, self.continue_with))

    def _reply(self, event: ReplyFinished | StepFinished) -> list[Line]:
        rows: list[Line] = []
        place = (event.turn, event.step)
        if event.text and not self._streamed and place != self._told:
            self.answer += event.text
            rows = self._flush_reads() + self._text_rows(self._reader.feed(event.text))
        self._told = place
        rows += self._close_text()
        if isinstance(event, ReplyFinished) or event.calls:
            self.answer = ""
        return rows

    def _approval(self, event: ApprovalAsked | ApprovalAnswered) -> list[Line]:
        if isinstance(event, ApprovalAsked):
            self.question = event
            rows = self._flush_reads() + self._close_text()
            self._last = "call"
            return rows + question_lines(self.look, event)
        self.question = None
        if event.answer in ("no", "expired"):
            self._refused.add(event.call)
        if event.arguments is not None:
            self._runs(event.call, event.arguments)
        return [answered_line(self.look, event, retry=self._commands)]

    def _call(self, event: CallProposed | CallStarted | CallProgress | CallFinished) -> list[Line]:
        match event:
            case CallProposed():
                self._proposed[event.call] = event
                return []
            case CallStarted():
                self._runs(event.call, event.arguments)
                if event.call in self._proposed:
                    self._running[event.call] = _Running(self._proposed[event.call], event.time)
                return []
            case CallProgress():
                self._progress(event)
                return []
            case CallFinished():
                return self._call_finished(event)

    def _runs(self, call: str, arguments: dict[str, Any]) -> None:
        if call in self._proposed:
            self._proposed[call] = ran(self._proposed[call], arguments)

    def _progress(self, event: CallProgress) -> None:
        running = self._running.get(event.call)
        if running is not None:
            running.tail.extend(row for row in event.text.split("\n") if row.strip())
            running.fraction = event.fraction

    def _call_finished(self, event: CallFinished) -> list[Line]:
        self._running.pop(event.call, None)
        self._outcomes[event.outcome] = self._outcomes.get(event.outcome, 0) + 1
        missing = CallProposed(call=event.call, tool=event.tool, arguments=None)
        call = Call(self._proposed.get(event.call, missing), event)
        if call.is_read:
            other = self._reads and self._reads[-1].proposed.tool != call.proposed.tool
            rows = self._flush_reads() if other else []
            self._reads.append(call)
            return rows
        if event.outcome == "denied" and event.call in self._refused:
            return []
        return self._flush_reads() + self._gap("call") + finished_lines(self.look, call, show=self._commands)

    def _note(self, event: Event) -> list[Line]:
        match event:
            case Warned():
                fix = f"  fix: {one_line(event.fix)}" if event.fix else ""
                return [
                    *self._flush_reads(),
                    self.look.signed("ask", Span(one_line(event.text), "warn"), fix),
                ]
            case ContextChanged() | MemoryRecalled() | StepsRecalled():
                rows = moved_lines(self.look, event)
                return [*self._flush_reads(), *rows] if rows else []
            case StageNote() if event.action in ("deny", "failed"):
                text = f"{event.handler} at {event.stage}: {event.detail or event.action}"
                return [*self._flush_reads(), self.look.signed("idle", one_line(text))]
            case JobChanged():
                row = job_line(self.look, event.job, event.command, event.state, event.exit)
                return [*self._flush_reads(), *self._gap("call"), self.look.cut(row)]
            case PluginChanged():
                sign = "idle" if event.state == "running" else "ask"
                return [*self._flush_reads(), self.look.signed(sign, plugin_line(event))]
            case PlanUpdated():
                return [*self._flush_reads(), *self._gap("call"), *self._plan(event)]
            case _:
                return []

    def _plan(self, event: PlanUpdated) -> list[Line]:
        done = sum(item.get("state") == "done" for item in event.items)
        rows = [self.look.signed("idle", f"plan  {done} of {len(event.items)} done")]
        for item in event.items:
            sign = _PLAN_SIGNS.get(str(item.get("state")), "idle")
            rows.append(
                self.look.cut(line("  ", *self.look.signed(sign, one_line(str(item.get("text", ""))))))
            )
        return rows

    def _text_rows(self, blocks: Sequence[Block]) -> list[Line]:
        rows = self._rendered(blocks)
        return self._gap("text") + rows if rows else []

    def _rendered(self, blocks: Sequence[Block]) -> list[Line]:
        return [line(TEXT_INDENT, *row) for block in blocks for row in render(block, self.look.cells - 2)]

    def _close_text(self) -> list[Line]:
        rows = self._text_rows(self._reader.close())
        self._reader, self._streamed = Reader(), False
        return rows

    def _gap(self, part: Part) -> list[Line]:
        gap = self._gap_before(part)
        self._last = part
        return [()] if gap else []

    def _gap_before(self, part: Part) -> bool:
        return self.chat and bool(self._last) and self._last != part and "text" in (self._last, part)

    def _flush_reads(self) -> list[Line]:
        reads, self._reads = self._reads, []
        if not reads:
            return []
        if len(reads) == 1:
            return self._gap("call") + finished_lines(self.look, reads[0], show=self._commands)
        return [*self._gap("call"), group_line(self.look, reads)]

    def _running_rows(self, running: _Running, now: str) -> list[Line]:
        seconds = _between(running.since, now)
        after = duration(int(seconds) * 1000) if seconds >= 1 else ""
        if running.fraction is not None:
            done = round(running.fraction * 20)
            bar = "" if self.look.narrow else f"[{'#' * done}{'.' * (20 - done)}]  "
            after = f"{bar}{running.fraction * 100:.0f} %  {after}".rstrip()
        sign = Span(self.look.signs.spin(seconds), "accent")
        rows = [self.look.cut(head(self.look, sign, running.proposed, after))]
        return rows + tail_lines(self.look, "\n".join(running.tail), _TAIL)


_CLOSED = {
    "done": "done",
    "failed": "failed",
    "denied": "denied",
    "cancelled": "cancelled",
    "unknown": "of unknown outcome",
}


def _answers(event: Event, question: ApprovalAsked) -> bool:
    if isinstance(event, ApprovalAnswered):
        return event.approval == question.approval
    return isinstance(event, TurnFinished)


def _end_of(block: Block) -> Block:
    """What of an open block can be on the screen: a long one is not laid out whole for every frame."""
    return (
        block._replace(text=block.text[-_LIVE_CHARACTERS:]) if len(block.text) > _LIVE_CHARACTERS else block
    )


def _between(start: str, end: str) -> float:
    first, last = parse(start), parse(end)
    return max(0.0, (last - first).total_seconds()) if first and last else 0.0
