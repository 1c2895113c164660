"""Taking configured values out of events before anything is written, told or sent to a model."""

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any, TypeVar, cast

from limnos.kernel.events import Event

E = TypeVar("E", bound=Event)
NOTE = "[hidden: configured value]"


class Mask:
    """Hides `values` in every text of an event, also deep inside of arguments and reasoning.

    The envelope of an event is ours and stays. A look at an event without any of the values takes two
    microseconds and makes no copy.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values: tuple[str, ...] = ()
        self._shortest = 0
        self.add(values)

    def add(self, values: Iterable[str]) -> None:
        """Hide `values` too from now on."""
        known = {*self._values, *(value for value in values if value)}
        self._values = tuple(sorted(known, key=len, reverse=True))
        self._shortest = min(map(len, self._values), default=0)

    def __call__(self, event: E) -> E:
        """`event` as it may be written and told: itself when nothing is to be hidden."""
        if not self._values:
            return event
        changed: dict[str, Any] = {}
        for name, value in event.__dict__.items():
            if name not in Event.fields and (hidden := self._hidden(value)) is not value:
                changed[name] = hidden
        return event.changed(**changed) if changed else event

    def text(self, text: str) -> str:
        """`text` with a note in the place of each value."""
        if len(text) < self._shortest:
            return text
        for value in self._values:
            if value in text:
                text = text.replace(value, NOTE)
        return text

    def _hidden(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._table(cast("Mapping[str, Any]", value))
        if isinstance(value, list | tuple):
            return self._list(cast("Sequence[Any]", value))
        return value

    def _table(self, table: Mapping[str, Any]) -> Mapping[str, Any]:
        made = {self.text(name): self._hidden(inner) for name, inner in table.items()}
        same = all(name in made and made[name] is inner for name, inner in table.items())
        return table if same else made

    def _list(self, items: Sequence[Any]) -> Sequence[Any]:
        hidden = [self._hidden(inner) for inner in items]
        return items if all(map(is_, hidden, items)) else hidden
