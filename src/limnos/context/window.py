"""The window, first version: the newest whole steps that fit the request budget, and a marker for the rest.

The relevance engine takes this place later behind the same seam (`kernel.seams.ContextEngine`).
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from limnos.context.markers import Marker
from limnos.context.shorten import CannotShrinkError, shorten, text_to_count
from limnos.context.shown import Shown, join, joined, rendered, visible
from limnos.kernel.conversation import Conversation
from limnos.kernel.errors import LimitError
from limnos.kernel.events import MemoryRecalled
from limnos.kernel.messages import Message, system, user
from limnos.kernel.model import Model, ToolSpec
from limnos.kernel.registry import Catalogue
from limnos.kernel.seams import Rendered
from limnos.kernel.units import Said, Step, Unit

MESSAGE_TOKENS = 4  # roles and separators, as chat templates add them
LEAST_BUDGET = 256
KNOWN_TEXTS = 16
LESS = 0.75  # of what was sent, when a provider says that it was too much


class WindowSettings(NamedTuple):
    """`share` of the model's window is for the request; a prune leaves `prune_target` of that budget."""

    share: float = 0.8
    reserve: int = 1024
    prune_target: float = 0.6
    catalogue_share: float = 0.2


class Window:
    """A tail of whole units behind one boundary, which moves only when the request would not fit."""

    def __init__(
        self,
        model: Model,
        catalogue: Catalogue,
        prompt: Callable[[Sequence[str]], str],
        settings: WindowSettings,
    ) -> None:
        self._model = model
        self._catalogue = catalogue
        self._prompt = prompt
        self._settings = settings
        self._boundary = 0
        self._counted = 0
        self._tail_tokens = 0
        self._last_tokens = 0
        self._marker = Marker()
        self._question: Said | None = None
        self._limit: int | None = None
        self._ceiling: int | None = None
        self._used = 0
        self._spec_tokens: dict[str, int] = {}
        self._known: dict[str, int] = {}
        self._shown = Shown()

    @property
    def budget(self) -> int:
        """Tokens a request may have: a share of the window, less the reserve for the reply."""
        window = min(self._model.context_tokens, self._limit or self._model.context_tokens)
        return max(int(window * self._settings.share) - self._settings.reserve, LEAST_BUDGET)

    def overflowed(self, limit: int | None) -> None:
        """Believe the provider's limit; where that changes nothing its count differs from ours: send less."""
        if limit is not None:
            self._limit = min(limit, self._limit or limit)
        if self.budget >= self._used:
            self._ceiling = int(self._used * LESS)

    async def recall(self, conversation: Conversation) -> MemoryRecalled | None:
        """Nothing: this engine has no memory."""
        return None

    async def render(self, conversation: Conversation, *, note: str = "", tools: bool = True) -> Rendered:
        """See `kernel.seams.ContextEngine`. Costs what the window costs, not what the session does."""
        offer = self._catalogue.offer(int(self.budget * self._settings.catalogue_share), self._count_spec)
        specs = offer.specs if tools else ()
        head = self._prompt(offer.lines)
        system_tokens = self._count(head)
        note = f"[note from limnos: {note}]" if note else ""
        fixed = system_tokens + sum(self._count_spec(spec) for spec in specs)
        extra = fixed + self._count(note)
        self._count_new(conversation)
        bound = min(self.budget, self._ceiling or self.budget)
        over = self._total(extra) > bound
        sunk = self._prune(conversation, extra, bound) if over else ()
        opening, units, turn_open = self._opening(head), conversation.units, conversation.turn_open
        noted = (user(note),) if note else ()
        self._used = self._total(extra)
        if self._used <= bound:
            messages = self._shown.messages(opening, units, self._boundary, turn_open=turn_open)
            join(messages, noted)
        else:
            tail = [one for unit in units[self._boundary :] for one in visible(unit, turn_open=turn_open)]
            messages, self._used = self._squeeze([*opening, *tail, *noted], fixed, bound)
        return Rendered(
            tuple(messages),
            specs,
            used=self._used,
            budget=self.budget,
            reserve=self._settings.reserve,
            system=system_tokens,
            sunk=tuple(unit.id for unit in sunk if isinstance(unit, Step)),
            marker=self._marker.text() if sunk else "",
        )

    def _count(self, text: str) -> int:
        """Tokens of a text that comes again in most requests: the prompt, the marker, the question."""
        if text not in self._known:
            if len(self._known) >= KNOWN_TEXTS:
                self._known.clear()
            self._known[text] = self._model.count_tokens(text) + MESSAGE_TOKENS if text else 0
        return self._known[text]

    def _count_spec(self, spec: ToolSpec) -> int:
        if spec.name not in self._spec_tokens:
            text = json.dumps(
                {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
            )
            self._spec_tokens[spec.name] = self._count(text)
        return self._spec_tokens[spec.name]

    def _count_new(self, conversation: Conversation) -> None:
        """Add what came since the last render; the last unit may have grown or been replaced."""
        units = conversation.units
        if self._counted > self._boundary:
            self._counted -= 1
            self._tail_tokens -= self._last_tokens
        for unit in units[self._counted :]:
            unit.tokens = sum(self._message_tokens(message) for message in rendered(unit))
            self._tail_tokens += unit.tokens
            self._last_tokens = unit.tokens
        self._counted = len(units)

    def _message_tokens(self, message: Message) -> int:
        return self._model.count_tokens(text_to_count(message)) + MESSAGE_TOKENS

    def _total(self, fixed: int) -> int:
        """Tokens of the request: what is fixed, the tail, the marker, and the question that stands again."""
        again = 0
        if self._question is not None:
            again = sum(self._count(text_to_count(message)) for message in rendered(self._question))
        return fixed + self._tail_tokens + self._count(self._marker.text()) + again

    def _prune(self, conversation: Conversation, fixed: int, bound: int) -> tuple[Unit, ...]:
        """Move the boundary so that the request fits the prune target; what is passed over has sunk.

        The last unit stays whatever its size.
        """
        units, begin = conversation.units, self._boundary
        target = int(bound * self._settings.prune_target)
        keep, total = len(units), fixed
        while keep > begin and (keep == len(units) or total + (units[keep - 1].tokens or 0) <= target):
            keep -= 1
            total += units[keep].tokens or 0
        self._sink(conversation, keep)
        # the marker and the question of this turn take room of their own, known only now
        while self._boundary < len(units) - 1 and self._total(fixed) > target:
            self._sink(conversation, self._boundary + 1)
        return tuple(units[begin : self._boundary])

    def _sink(self, conversation: Conversation, boundary: int) -> None:
        """Let all units before `boundary` leave the window.

        What began the current turn stands again behind the marker, also in later turns, up to the next prune:
        only then may the beginning of the request change.
        """
        sunk = conversation.units[self._boundary : boundary]
        self._marker.add(sunk)
        self._boundary = boundary
        self._tail_tokens -= sum(unit.tokens or 0 for unit in sunk)
        if self._question is None or self._question.turn != conversation.turn:
            said = (unit for unit in sunk if isinstance(unit, Said) and unit.turn == conversation.turn)
            self._question = next(said, None)

    def _opening(self, head: str) -> tuple[Message, ...]:
        """What stands before the units: the prompt, the marker, and the question that stands again."""
        marker = self._marker.text()
        again = () if self._question is None else rendered(self._question)
        return (system(head), *((user(marker),) if marker else ()), *again)

    def _squeeze(self, messages: list[Message], fixed: int, bound: int) -> tuple[list[Message], int]:
        """The last unit alone is too large: show head and tail of its texts.

        A bound that only a provider's complaint set is no promise: what cannot be cut to it is sent as it is.
        """
        try:
            rest = shorten(messages[1:], bound - fixed, self._message_tokens)
        except CannotShrinkError as error:
            if self._used <= self.budget:
                return joined(messages), self._used
            raise LimitError(
                f"the context cannot shrink: fixed parts are {fixed} of {self.budget} tokens, "
                f"the last step, cut as short as it can be, {error.tokens}",
                "limnos config set catalogue.share 0.1, or use a model with a larger window",
            ) from None
        return joined([messages[0], *rest]), fixed + sum(map(self._message_tokens, rest))
