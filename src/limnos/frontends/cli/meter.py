"""The status line: mode, model, used of budget, reserve, tokens and money of the next message."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from limnos.frontends.cli.cells import cut, width
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import money, thousands
from limnos.kernel.events import ContextChanged, Event, TurnStarted, UsageRecorded

_WARN_SHARE = 0.8
_LEAST_NAME = 6


@dataclass(slots=True)
class Meter:
    """What the newest events say about mode, model, window and price."""

    mode: str = "ask"
    model: str = ""
    used: int = 0
    budget: int = 0
    reserve: int = 0
    prompt: int = 0
    cost: str = "0"
    currency: str = "USD"

    def apply(self, event: Event) -> None:
        """Take one event; sub-agents have windows of their own."""
        if event.agent:
            return
        match event:
            case TurnStarted():
                self.mode, self.model = event.mode, event.model
            case ContextChanged():
                self.used, self.budget, self.reserve = event.used, event.budget, event.reserve
            case UsageRecorded():
                self.prompt, self.cost, self.currency = event.prompt_tokens, event.cost, event.currency
                self.used = max(self.used, event.prompt_tokens) if self.budget else self.used
            case _:
                pass

    @property
    def share(self) -> float:
        """Used part of the budget, 0 to 1; 0 while nothing is known."""
        return self.used / self.budget if self.budget else 0.0

    def row(self, look: Look) -> Line:
        """The whole line; below 60 columns only the percentage of the window."""
        following = f"next {thousands(self.used)}"
        if not self.budget:
            return self._fitted(look, "")
        if look.narrow:
            return self._fitted(look, f"  {self.share * 100:.0f} %  {following}, {self._price()}")
        window = f"window {thousands(self.used)} of {thousands(self.budget)}, {self.share * 100:.0f} %"
        window += f", reserve {_rounded(self.reserve)}"
        return self._fitted(look, f"  {window}  {following} tokens, {self._price()}")

    def _fitted(self, look: Look, figures: str) -> Line:
        """The line; the model's name gives way where there is no room."""
        warns = self.share >= _WARN_SHARE
        before = f"{look.signs.ask} {self.mode}  " if warns else f"{self.mode}  "
        name = one_line(self.model.rsplit("/", 1)[-1]) or "no model yet"
        room = max(_LEAST_NAME, look.cells - width(before) - width(figures))
        text = before + _shortened(name, room, look.signs.cut) + figures
        return look.cut(line(Span(text, "warn" if warns else "dim")))

    def _price(self) -> str:
        try:
            paid = Decimal(self.cost)
        except InvalidOperation:
            paid = Decimal(0)
        if not paid or not self.prompt:
            return money(self.cost, self.currency)
        estimate = paid * self.used / self.prompt
        return f"about {estimate.quantize(Decimal('0.0001')).normalize():f} {self.currency}"


def _rounded(tokens: int) -> str:
    return f"{round(tokens / 1000)}k" if tokens >= 500 else str(tokens)


def _shortened(name: str, cells: int, gap: str) -> str:
    """The name with its middle left out: the end tells models of a family apart."""
    if width(name) <= cells:
        return name
    tail = name[-((cells - len(gap)) // 2) :]
    return cut(name, cells - width(tail), gap) + tail
