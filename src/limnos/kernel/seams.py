"""The protocols the kernel depends on. Everything here is passed in; nothing is looked up."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, TypeAlias

from limnos.kernel.conversation import Conversation
from limnos.kernel.events import Event, MemoryRecalled
from limnos.kernel.messages import Message
from limnos.kernel.model import ToolSpec, Usage


class Clock(Protocol):
    """Time, injected so that tests own it."""

    def now(self) -> str:
        """The present as ISO 8601 in UTC with milliseconds and a `Z`."""
        ...

    def later(self, seconds: float) -> str:
        """`now` plus `seconds`, in the same form."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait; a test's clock returns at once and moves on by `seconds`."""
        ...


class Ids(Protocol):
    """New identifiers."""

    def new(self, kind: str) -> str:
        """An id that was not given before: `session`, `approval`, `call` or `block`."""
        ...


class EventLog(Protocol):
    """The append-only truth of one session."""

    def append(self, event: Event, *, durable: bool = False) -> None:
        """Write `event` as one line; with `durable` it is on the disk when this returns.

        Raises `errors.StorageError`. May not reorder, and may not keep an event back once a later
        durable one was written.
        """
        ...


class Listener(Protocol):
    """Somebody who watches the event stream. Must return at once and must not raise."""

    def __call__(self, event: Event) -> None: ...


class Folder(Protocol):
    """The folder that a session works in."""

    @property
    def path(self) -> str:
        """Its absolute path."""
        ...

    def identity(self) -> str:
        """Device, inode and time of birth: a folder that was replaced is another one. `absent` when gone."""
        ...


class Blobs(Protocol):
    """Content-addressed payloads."""

    def put(self, data: bytes) -> str:
        """Keep `data` and return its block id; the same bytes give the same id."""
        ...

    def get(self, block: str) -> bytes:
        """The bytes of `block`. Raises KeyError when there is none."""
        ...


class Valid(NamedTuple):
    """Arguments that fit the schema, scalars given as text converted."""

    value: dict[str, Any]


class Invalid(NamedTuple):
    """Why arguments do not fit: the place and the rule, and what to send instead."""

    detail: str
    hint: str


Validation: TypeAlias = Valid | Invalid


class Validator(Protocol):
    """Checks arguments against a JSON Schema. Never fetches a reference and never raises on bad input."""

    def __call__(self, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Validation: ...


class Principal(NamedTuple):
    """Who speaks. `kind` is owner, member, guest, channel or chat."""

    kind: str = "owner"
    id: str = ""

    @property
    def is_owner(self) -> bool:
        """Only the owner answers approvals and reaches private tools."""
        return self.kind == "owner"

    def narrowed(self, other: "Principal") -> "Principal":
        """Who speaks in a turn that merges inputs of both: the one with fewer rights."""
        return other if RIGHTS.index(other.kind) > RIGHTS.index(self.kind) else self

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" if self.id else self.kind


RIGHTS = ("owner", "member", "guest", "channel", "chat")


def parse_principal(text: str) -> Principal:
    """`kind` or `kind:id`; an unknown kind has the fewest rights."""
    kind, _, name = text.partition(":")
    return Principal(kind if kind in RIGHTS else RIGHTS[-1], name)


class Rule(NamedTuple):
    """A stored decision: `effect` is allow, ask or deny; `match` is compared with what a call does.

    `*` in `match` stands for any text. `scope` is session, persona or everywhere. `folder` is the working
    folder the rule holds in, empty for any: names in `match` are relative to it. `program` is the resolved
    file that the first word of an allow rule stood for when it was stored, empty for a tool without one.
    """

    effect: str
    tool: str
    match: str
    scope: str = "session"
    folder: str = ""
    program: str = ""


class RuleBook(Protocol):
    """The rules of a persona, and those that hold everywhere."""

    def rules(self) -> Sequence[Rule]:
        """The rules as they are now. Raises errors.SettingsError."""
        ...

    def keep(self, rule: Rule) -> None:
        """Store `rule` where its scope says. Raises errors.StorageError or errors.SettingsError."""
        ...


class Question(NamedTuple):
    """What the gate asks a person about one call."""

    approval: str
    call: str
    tool: str
    arguments: Mapping[str, Any]
    hash: str
    reasons: Sequence[str]
    cwd: str
    preview: str | None
    rule: Rule | None
    expires: str
    parts: Sequence[Sequence[str]] = ()


class Answer(NamedTuple):
    """A person's answer: `verdict` is once, always, no or edit.

    `arguments` come with edit, `reason` may come with no, `scope` is where an always holds. Where no person
    answered, the gate makes one of its own: expired or cancelled.
    """

    verdict: str
    reason: str | None = None
    arguments: Mapping[str, Any] | None = None
    principal: Principal = Principal()
    source: str = ""
    scope: str = "session"


class Approver(Protocol):
    """Somebody who can answer for the owner.

    `ask` is called for one question at a time. It raises TimeoutError when nobody answered in time. It
    may not be a tool, a plugin or the model.
    """

    async def ask(self, question: Question) -> Answer: ...


class Spending(Protocol):
    """Money spent, over sessions and restarts."""

    def add(self, cost: Decimal) -> None:
        """Write down a cost; raises errors.StorageError."""
        ...

    def today(self) -> Decimal:
        """Spent since midnight UTC by all sessions of this persona."""
        ...

    def total(self) -> Decimal:
        """Spent ever by this persona."""
        ...


class Prices(Protocol):
    """What a request costs."""

    def __call__(self, model: str, usage: Usage) -> tuple[Decimal, str]:
        """The cost and its currency; zero for a model without a price."""
        ...


class Rendered(NamedTuple):
    """A request's content as the context engine chose it; sizes in tokens, `system` that of the prompt.

    `sunk` names the units that left the window with this render, `marker` says so in one line. `markers`,
    `ledger` and `decisions` are those of `kernel.memory_events.ContextChanged`.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    used: int
    budget: int
    reserve: int
    system: int = 0
    sunk: tuple[str, ...] = ()
    marker: str = ""
    markers: Sequence[Mapping[str, Any]] = ()
    ledger: str = ""
    decisions: Sequence[Mapping[str, Any]] = ()


class ContextEngine(Protocol):
    """Decides what of a conversation a model sees."""

    async def recall(self, conversation: Conversation) -> MemoryRecalled | None:
        """What memory puts before the input of the turn that has just begun; None for nothing.

        Must return within a second or so, whatever the state of the memory, and must not raise.
        """
        ...

    async def render(self, conversation: Conversation, *, note: str = "", tools: bool = True) -> Rendered:
        """Fit the conversation into the request budget, whole steps only; `note` stands at the end.

        Changes nothing in `conversation`: what sinks leaves it with the event that says so.
        Raises errors.LimitError when even the fixed parts do not fit, naming sizes and the setting.
        """
        ...

    def overflowed(self, limit: int | None) -> None:
        """The provider said the request was too large: render smaller from now on."""
        ...
