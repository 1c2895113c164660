"""The messages of the window, kept between renders: what stands already is neither made nor joined again."""

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any, NamedTuple

from limnos.context.marker_text import marker_text
from limnos.context.shorten import cut
from limnos.context.sizes import MESSAGE_TOKENS, Sizes, rendered
from limnos.context.standing import Standing
from limnos.kernel.messages import Message, Text, text_of, user
from limnos.kernel.units import Unit

# Between two replies of which the second goes on: some routes want alternating roles.
GAP = user("[...]")
GAP_TOKENS = MESSAGE_TOKENS + 5
KNOWN_CUTS = 64


class Look(NamedTuple):
    """The messages of a request behind its prompt, and what they cost."""

    messages: list[Message]
    tokens: int


class Shown:
    """A joined list that grows at its end, until something of what stands already changes."""

    def __init__(self, sizes: Sizes, *, recallable: bool) -> None:
        self.sizes = sizes
        self._recallable = recallable
        self._key: object = None
        self._units: list[Unit] = []
        self._list = _Joined()
        self._waiting: list[Mapping[str, Any]] = []
        self._hid = 0
        self._cut: dict[tuple[str, int], tuple[tuple[Message, ...], int]] = {}

    def look(self, standing: Standing) -> Look:
        """The ledger, then units and markers in their order; a list of the caller's own."""
        units, known = standing.units, len(self._units)
        settled = max(len(units) - 1, 0)  # the last unit may grow or be replaced
        same = (
            self._key == (standing.ledger, standing.notes)
            and settled >= known
            and self._hid in (0, standing.hidden)
            and all(map(is_, self._units, units))
        )
        if not same:
            self._begin(standing)
            known = 0
        cuts = standing.cuts if standing.notes else {}
        for unit in units[known:settled]:
            self._add(self._list, self._waiting, unit, standing, cuts)
            if standing.hides(unit):
                self._hid = standing.hidden
        self._units += units[known:settled]
        messages, waiting = self._list.copy(), list(self._waiting)
        for unit in units[settled:]:
            self._add(messages, waiting, unit, standing, cuts)
        for span in waiting:
            self._mark(messages, span, standing.units)
        return Look(messages.messages, messages.tokens)

    def shown(self, unit: Unit, cuts: Mapping[str, int]) -> tuple[tuple[Message, ...], int]:
        """The messages of `unit` as they are shown, whole or cut, and their tokens."""
        characters = cuts.get(unit.id) if cuts else None
        if characters is None:
            return rendered(unit), self.sizes.unit(unit)
        key = (unit.id, characters)
        if key not in self._cut:
            messages = tuple(cut(message, characters) for message in rendered(unit))
            self._cut[key] = messages, sum(map(self.sizes.message, messages))
        return self._cut[key]

    def cost(self, standing: Standing) -> int:
        """What `look` would cost; what is kept for the next render stays."""
        other = Shown(self.sizes, recallable=self._recallable)
        return other.look(standing).tokens

    def marker(self, span: Mapping[str, Any], units: Sequence[Unit]) -> str:
        """The text of the marker of `span` when `units` stand."""
        return marker_text(span, units, recallable=self._recallable)

    def _begin(self, standing: Standing) -> None:
        self._key = (standing.ledger, standing.notes)
        self._units, self._list, self._hid = [], _Joined(), 0
        self._waiting = standing.spans
        if len(self._cut) > KNOWN_CUTS:
            self._cut.clear()
        if standing.ledger:
            self._list.add((user(standing.ledger),), self.sizes.text(standing.ledger))

    def _add(
        self,
        messages: "_Joined",
        waiting: list[Mapping[str, Any]],
        unit: Unit,
        standing: Standing,
        cuts: Mapping[str, int],
    ) -> None:
        while waiting and waiting[0]["first"] < unit.seq:
            self._mark(messages, waiting.pop(0), standing.units)
        if not standing.hides(unit):
            messages.add(*self.shown(unit, cuts))

    def _mark(self, messages: "_Joined", span: Mapping[str, Any], units: Sequence[Unit]) -> None:
        text = self.marker(span, units)
        if text:
            messages.add((user(text),), self.sizes.text(text))


class _Joined:
    """Messages of which no two neighbours are of a person, nor two replies; and their tokens."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.tokens = 0

    def copy(self) -> "_Joined":
        """A list of its own."""
        other = _Joined()
        other.messages, other.tokens = list(self.messages), self.tokens
        return other

    def add(self, more: Iterable[Message], tokens: int) -> None:
        """Append `more`, which cost `tokens`."""
        before = len(self.messages)
        gaps = join(self.messages, more)
        self.tokens += tokens + gaps * GAP_TOKENS + (before == len(self.messages))


def join(messages: list[Message], more: Iterable[Message]) -> int:
    """Append `more`; neighbouring user messages become one, between two replies stands a gap.

    Returns how many gaps it made.
    """
    gaps = 0
    for message in more:
        last = messages[-1] if messages else None
        if last is not None and last.role == "user" and message.role == "user":
            messages[-1] = Message("user", (Text(f"{text_of(last.parts)}\n\n{text_of(message.parts)}"),))
            continue
        if message.role == "assistant" and (last is None or last.role in ("assistant", "system")):
            messages.append(GAP)
            gaps += 1
        messages.append(message)
    return gaps
