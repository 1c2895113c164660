"""The sub-agents of a session as its events tell of them: how many there were, and who has no end yet."""

from decimal import Decimal

from limnos.kernel.events import (
    AgentFinished,
    AgentStarted,
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProposed,
    CallStarted,
    Event,
    ReplyFinished,
    StepFinished,
    UsageRecorded,
)


class OpenAgent:
    """A sub-agent without an end: what it has used, and what of it is open.

    `calls` are tools by the id of a call that has no result, `questions` calls by the id of an approval
    without an answer. `reply` is that of its step, None between steps.
    """

    def __init__(self, started: AgentStarted) -> None:
        self.started = started
        self.step = 0
        self.ran = 0
        self.tokens = 0
        self.cost = Decimal(0)
        self.currency = "USD"
        self.reply: ReplyFinished | None = None
        self.proposed: list[str] = []
        self.running: set[str] = set()
        self.calls: dict[str, str] = {}
        self.questions: dict[str, str] = {}
        self.changed = False
        self._effects: set[str] = set()

    def apply(self, event: Event) -> None:
        """Take an event of this sub-agent."""
        self.step = max(self.step, event.step)
        match event:
            case ReplyFinished():
                self.reply = event
            case CallProposed():
                self.proposed.append(event.call)
                self.calls[event.call] = event.tool
                if event.effects != "none":
                    self._effects.add(event.call)
            case CallStarted():
                self.running.add(event.call)
                self.ran += 1
                self.changed = self.changed or event.call in self._effects
            case CallFinished():
                self.calls.pop(event.call, None)
            case StepFinished():
                self.reply = None
                self.proposed.clear()
            case _:
                self._note(event)

    def _note(self, event: Event) -> None:
        match event:
            case ApprovalAsked():
                self.questions[event.approval] = event.call
            case ApprovalAnswered():
                self.questions.pop(event.approval, None)
            case UsageRecorded():
                self.use(event)
            case _:
                pass

    def use(self, event: UsageRecorded) -> None:
        """Count what a request of this one, or of one below it, used."""
        self.tokens += event.prompt_tokens + event.completion_tokens
        self.cost += Decimal(event.cost)
        self.currency = event.currency


class Agents:
    """All sub-agents of one session. `open` is in the order in which they began."""

    def __init__(self) -> None:
        self.open: dict[str, OpenAgent] = {}
        self._highest: dict[str, int] = {}

    def apply(self, event: Event) -> None:
        """Take an event of any of them."""
        match event:
            case AgentStarted():
                above, number = _split(event.agent)
                self._highest[above] = max(number, self._highest.get(above, 0))
                self.open[event.agent] = OpenAgent(event)
            case AgentFinished():
                self.open.pop(event.agent, None)
            case _ if event.agent in self.open:
                self.open[event.agent].apply(event)
                self._count_above(event)
            case _:
                pass

    def _count_above(self, event: Event) -> None:
        """What a sub-agent uses and changes, those above it do as well."""
        changed = self.open[event.agent].changed
        above = _split(event.agent)[0]
        while above:
            if (one := self.open.get(above)) is not None:
                one.changed = one.changed or changed
                if isinstance(event, UsageRecorded):
                    one.use(event)
            above = _split(above)[0]

    @property
    def highest(self) -> dict[str, int]:
        """The number of the last sub-agent that each agent began, by its path."""
        return self._highest

    def take_path(self, above: str) -> str:
        """The path of a new sub-agent of the agent `above`; none is given twice."""
        number = self._highest[above] = self._highest.get(above, 0) + 1
        return f"{above}/{number}" if above else str(number)


def _split(path: str) -> tuple[str, int]:
    above, _, number = path.rpartition("/")
    return above, int(number) if number.isdecimal() else 0
