"""The event stream in whole sentences with labels: no signs to guess, nothing redrawn, menus by number."""

from dataclasses import dataclass, field

from limnos.frontends.cli.calls import ran, subject
from limnos.frontends.cli.children import Children
from limnos.frontends.cli.escapes import command_text, one_line, visible
from limnos.frontends.cli.plugin_lines import plugin_line
from limnos.frontends.cli.times import duration
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProposed,
    CallStarted,
    Event,
    JobChanged,
    PluginChanged,
    ReplyFinished,
    StepFinished,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
    Warned,
)

FIRST_LINE = "limnos, accessible mode: plain lines, nothing is redrawn. Type /help."
STILL_SECONDS = 7
LETTERS = {"1": "n", "2": "y", "3": "a", "4": "e", "6": "v"}
_MENU = "  1 no. 2 once.{always} 4 edit. 5 no with a reason. 6 show all."


@dataclass(slots=True)
class Speaker:
    """Turns events into lines to be read aloud."""

    _calls: dict[str, CallProposed] = field(default_factory=dict[str, CallProposed])
    _refused: set[str] = field(default_factory=set[str])
    _children: Children = field(default_factory=Children)

    def lines(self, event: Event) -> list[str]:
        """What to say about an event; often nothing."""
        if event.agent and not isinstance(event, ApprovalAsked | ApprovalAnswered | Warned):
            return self._children.sentences(event)
        return self._lines(event)

    def _lines(self, event: Event) -> list[str]:
        match event:
            case TurnStarted() | TurnSuspended() | TurnResumed():
                self._refused.clear()
                aside = isinstance(event, TurnSuspended)
                return [f"limnos: {'set aside for what is more urgent' if aside else 'working'}."]
            case CallProposed() | CallStarted() | CallFinished():
                return self._call(event)
            case ApprovalAsked():
                return self._question(event)
            case ApprovalAnswered():
                return [self._answered(event)]
            case ReplyFinished() if event.text:
                return _indented("limnos: ", event.text)
            case StepFinished() if event.text and not event.calls:
                return _indented("limnos: ", event.text)
            case Warned():
                return [f"warning: {one_line(event.text)} {one_line(event.fix)}".rstrip()]
            case JobChanged() | PluginChanged():
                return [_news(event)]
            case TurnFinished():
                return self._end(event)
            case _:
                return []

    def _call(self, event: CallProposed | CallStarted | CallFinished) -> list[str]:
        if isinstance(event, CallProposed):
            self._calls[event.call] = event
            return []
        proposed = self._calls.get(event.call)
        if isinstance(event, CallStarted):
            if proposed is not None:
                self._calls[event.call] = ran(proposed, event.arguments)
            return []
        if event.outcome == "denied" and event.call in self._refused:  # the answer has said so
            return []
        about = subject(proposed.arguments) if proposed else ""
        detail = str((event.error or {}).get("detail", ""))
        parts = [one_line(event.tool), about, event.outcome, one_line(detail)]
        return [f"tool: {', '.join(part for part in parts if part)}."]

    def _question(self, event: ApprovalAsked) -> list[str]:
        reasons = "; ".join(one_line(reason) for reason in event.reasons)
        rows = [f"question: {one_line(event.tool)} asks, {reasons}. Code {one_line(event.approval)}."]
        for name, value in event.arguments.items():
            rows.extend(_indented(f"  {one_line(name)}: ", command_text(str(value)), safe=True))
        for number, part in enumerate(event.parts, 1):
            rows.append(f"  part {number} of {len(event.parts)}: {command_text(one_line(' '.join(part)))}.")
        if event.destinations:
            rows.append(f"  destination: {', '.join(one_line(place) for place in event.destinations)}.")
        if event.preview and event.preview != event.arguments.get("command"):
            rows.extend(_indented("  change: ", command_text(event.preview), safe=True))
        return [*rows, _MENU.format(always=" 3 always." if event.rule else "")]

    def _answered(self, event: ApprovalAnswered) -> str:
        match event.answer:
            case "cancelled":
                return "limnos: not answered, and not run."
            case "expired":
                return "limnos: denied, no answer in time."
            case "no":
                self._refused.add(event.call)
                return "limnos: you answered no."
            case _:
                return f"limnos: you answered {event.answer}."

    def _end(self, event: TurnFinished) -> list[str]:
        if event.reason == "done":
            return [f"limnos: done in {duration(event.ms)}."]
        if event.reason == "denied" and self._refused:  # the person's own no is no fault
            return [f"limnos: {one_line(event.message)}. Next: {one_line(event.fix)}."]
        rows = [f"limnos: {event.reason}. {one_line(event.message)}".rstrip()]
        return [*rows, f"fix: {one_line(event.fix)}"] if event.fix else rows


def not_offered(asked: ApprovalAsked) -> str:
    """What to say to an answer that the menu does not have."""
    return f"limnos: that is not offered here; answer with 1, 2,{' 3,' if asked.rule else ''} 4, 5 or 6."


def _indented(label: str, text: str, *, safe: bool = False) -> list[str]:
    first, *more = (text if safe else visible(text)).split("\n")
    return [f"{label}{first}", *(f"  {row}" for row in more)]


def _news(event: JobChanged | PluginChanged) -> str:
    """What happened beside the turn."""
    if isinstance(event, PluginChanged):
        return f"{plugin_line(event)}."
    return f"job {one_line(event.job)}: {event.state}. {one_line(event.command)}."
