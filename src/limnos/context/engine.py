"""The context engine: what of a conversation a model sees, within a budget of tokens.

It changes nothing: what a prune decides becomes an event, whose fold moves the units. So a session that is
opened again renders what it rendered before.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from limnos.context import deferred
from limnos.context.budget import Budget, Caps, WindowSettings
from limnos.context.frame import Frame
from limnos.context.prefix import Prefix
from limnos.context.shorten import CannotShrinkError, shorten
from limnos.context.shown import Look, Shown, join
from limnos.context.sizes import Sizes
from limnos.context.sources import NOTHING, Sources
from limnos.context.standing import Standing, standing
from limnos.kernel.conversation import Conversation
from limnos.kernel.errors import LimitError
from limnos.kernel.events import MemoryRecalled
from limnos.kernel.messages import Message, system, user
from limnos.kernel.model import Model, ToolSpec
from limnos.kernel.registry import Catalogue
from limnos.kernel.seams import Rendered

if TYPE_CHECKING:
    from limnos.context.prune import Pruned, Pruner
    from limnos.context.recall import Recall


class Fixed(NamedTuple):
    """The parts of a request that no prune can make smaller; `tokens` is their sum."""

    head: Message
    system: int
    specs: tuple[ToolSpec, ...]
    note: tuple[Message, ...]
    tokens: int


class Engine:
    """Renders one conversation, whole units only, and prunes it when a request would not fit."""

    def __init__(
        self,
        model: Model,
        catalogue: Catalogue,
        prompt: Callable[[Sequence[str]], str],
        settings: WindowSettings,
        sources: Sources = NOTHING,
    ) -> None:
        self._model = model
        self._catalogue = catalogue
        self._prompt = prompt
        self._settings = settings
        self._sources = sources
        self._budget = Budget(settings)
        self._sizes = Sizes(model)
        self._shown = Shown(self._sizes, recallable=sources.recallable)
        self._prefix = Prefix()
        self._used = 0
        self._pruner: Pruner | None = None
        self._recall: Recall | None = None

    @property
    def budget(self) -> int:
        """Tokens a request may have: a share of the window, less the reserve for the reply."""
        return self._budget.request(self._model.context_tokens)

    @property
    def caps(self) -> Caps:
        """The most tokens that each bounded section may take."""
        return self._budget.caps(self._model.context_tokens)

    @property
    def prefix_reuse(self) -> float | None:
        """The share, 0 to 1, of the request before the last that the last one repeats from its beginning."""
        return self._prefix.reuse

    def overflowed(self, limit: int | None) -> None:
        """See `kernel.seams.ContextEngine`."""
        self._budget.overflowed(limit, self._model.context_tokens, self._used)

    async def recall(self, conversation: Conversation) -> MemoryRecalled | None:
        """See `kernel.seams.ContextEngine`."""
        if self._sources.recollection is None:
            return None
        if self._recall is None:
            recallable = self._sources.recallable
            self._recall = deferred.recall.Recall(
                self._sources.recollection, self._sizes, recallable=recallable
            )
        return await self._recall.section(conversation, self.caps.recall)

    async def render(self, conversation: Conversation, *, note: str = "", tools: bool = True) -> Rendered:
        """See `kernel.seams.ContextEngine`. Without a prune it costs what is new in the window."""
        fixed = self._fixed(note, tools=tools)
        bound = self._budget.bound(self._model.context_tokens)
        after, pruned = standing(conversation), None
        look = self._shown.look(after)
        if fixed.tokens + look.tokens > bound:
            pruned = await self._prune(conversation, after, fixed, bound)
            after = pruned.standing
            look = self._shown.look(after)
        self._used = fixed.tokens + look.tokens
        messages = [fixed.head, *look.messages]
        join(messages, fixed.note)
        if self._used > bound:
            messages = self._squeezed(fixed, look, bound)
        self._prefix.note(fixed.specs, messages)
        rendered = Rendered(
            tuple(messages), fixed.specs, self._used, self.budget, self._settings.reserve, fixed.system
        )
        return rendered if pruned is None else self._told(rendered, pruned)

    def _fixed(self, note: str, *, tools: bool) -> Fixed:
        offer = self._catalogue.offer(self.caps.catalogue, self._sizes.spec)
        specs = offer.specs if tools else ()
        head = self._prompt(offer.lines)
        text = f"[note from limnos: {note}]" if note else ""
        size = self._sizes.text(head)
        total = size + sum(map(self._sizes.spec, specs)) + self._sizes.text(text)
        return Fixed(system(head), size, specs, (user(text),) if text else (), total)

    async def _prune(self, conversation: Conversation, now: Standing, fixed: Fixed, bound: int) -> "Pruned":
        if self._pruner is None:
            self._pruner = deferred.prune.Pruner(self._settings, self._sizes, self._shown, self._sources)
        window = conversation.window
        share = self._settings.prune_target
        target = max(int(bound * share), fixed.tokens + (bound - fixed.tokens) // 2)
        ledger = int(bound * self._settings.ledger_share)
        turn = conversation.turn
        free = (self._settings.newest, window.held, window.pinned)
        frame = Frame(fixed.tokens, bound, target, ledger, turn, *free)
        return await self._pruner.prune(now, frame, deferred.prune.query_of(conversation))

    def _told(self, rendered: Rendered, pruned: "Pruned") -> Rendered:
        """`rendered` with what the event of a prune says."""
        after = pruned.standing
        texts = [self._shown.marker(span, after.units) for span in after.spans]
        return rendered._replace(
            sunk=pruned.sunk,
            marker=texts[-1] if texts and pruned.sunk else "",
            markers=after.notes,
            ledger=after.ledger,
            decisions=pruned.decisions,
        )

    def _squeezed(self, fixed: Fixed, look: Look, bound: int) -> list[Message]:
        """What must stay alone is too large: head and tail of its texts.

        A bound that only a provider's complaint set is no promise: what cannot be cut to it is sent as it is.
        """
        try:
            rest = shorten(look.messages, bound - fixed.tokens, self._sizes.message)
        except CannotShrinkError as error:
            if self._used > self.budget:
                raise LimitError(
                    f"the context cannot shrink: fixed parts are {fixed.tokens} of {self.budget} tokens, "
                    f"the last step, cut as short as it can be, {error.tokens}",
                    "limnos config set catalogue.share 0.1, or use a model with a larger window",
                ) from None
            rest = look.messages
        else:
            self._used = fixed.tokens + sum(map(self._sizes.message, rest))
        messages = [fixed.head, *rest]
        join(messages, fixed.note)
        return messages
