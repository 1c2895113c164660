"""The status line: mode, model, used of budget, reserve, tokens and money of the next message."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import money, thousands
from limnos.kernel.events import ContextChanged, Event, TurnStarted, UsageRecorded

_WARN_SHARE = 0.8


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
        """Take one event."""
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
        model = one_line(self.model.rsplit("/", 1)[-1]) or "no model yet"
        if not self.budget:
            return line(Span(f"{self.mode}  {model}", "dim"))
        following = f"next {thousands(self.used)}"
        if look.narrow:
            text = f"{self.mode}  {model}  {self.share:.0%}".replace("%", " %")
            return self._marked(look, f"{text}  {following}, {self._price()}")
        window = f"window {thousands(self.used)} of {thousands(self.budget)}, {self.share * 100:.0f} %"
        window += f", reserve {thousands(self.reserve)}"
        return self._marked(look, f"{self.mode}  {model}  {window}  {following} tokens, {self._price()}")

    def _price(self) -> str:
        try:
            paid = Decimal(self.cost)
        except InvalidOperation:
            paid = Decimal(0)
        if not paid or not self.prompt:
            return money(self.cost, self.currency)
        estimate = paid * self.used / self.prompt
        return f"about {estimate.quantize(Decimal('0.0001')).normalize():f} {self.currency}"

    def _marked(self, look: Look, text: str) -> Line:
        if self.share >= _WARN_SHARE:
            return look.cut(line(Span(f"{look.signs.ask} {text}", "warn")))
        return look.cut(line(Span(text, "dim")))
