"""What sub-agents do, told in a line each: a dim one per step, a plain one at start and end."""

from dataclasses import dataclass, field

from limnos.frontends.cli.calls import subject
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import counted, duration
from limnos.kernel.events import AgentFinished, AgentStarted, CallProposed, Event, StepFinished


@dataclass(slots=True)
class Children:
    """The sub-agents at work: their roles, and what each asks for in its step."""

    _roles: dict[str, str] = field(default_factory=dict[str, str])
    _calls: dict[str, list[CallProposed]] = field(default_factory=dict[str, list[CallProposed]])

    def row(self, look: Look, event: Event) -> Line | None:
        """`↳ 1 reviewer: read_file src/a.py`, once a step of a sub-agent is whole; else mostly nothing."""
        text = self._text(event)
        if not text:
            return None
        return look.cut(line("  ", Span(f"{look.signs.child} {self._name(event)}: {text}", "dim")))

    def sentences(self, event: Event) -> list[str]:
        """What is said aloud: that a sub-agent begins, and how it ended."""
        match event:
            case AgentStarted():
                self._roles[event.agent] = event.role
                return [f"sub-agent {self._name(event)} begins: {one_line(event.task)}."]
            case AgentFinished():
                ended = f"{_ending(event)}, {counted(event.calls, 'call')}, {duration(event.ms)}"
                return [f"sub-agent {self._name(event)} ends: {ended}."]
            case _:
                return []

    def _text(self, event: Event) -> str:
        match event:
            case AgentStarted():
                self._roles[event.agent] = event.role
                return ""
            case CallProposed():
                self._calls.setdefault(event.agent, []).append(event)
                return ""
            case StepFinished():
                return _asked(self._calls.pop(event.agent, []))
            case AgentFinished() if event.reason != "done":
                return _ending(event)
            case _:
                return ""

    def _name(self, event: Event) -> str:
        return f"{event.agent} {one_line(self._roles.get(event.agent, ''))}".rstrip()


def _asked(calls: list[CallProposed]) -> str:
    """The first call of a step, and how many more there are."""
    if not calls:
        return ""
    first = f"{one_line(calls[0].tool)} {subject(calls[0].arguments)}".rstrip()
    return f"{first}, and {len(calls) - 1} more" if len(calls) > 1 else first


def _ending(event: AgentFinished) -> str:
    why = f", {one_line(event.message)}" if event.message else ""
    return f"{event.reason} after {counted(event.steps, 'step')}{why}"
