"""Everything a person can set: one frozen object, and what is known of each of its fields."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from math import inf
from typing import Any, NamedTuple, TypeAlias, cast

Value: TypeAlias = str | int | float


def _key(default: Any, text: str, name: str, **bounds: Any) -> Any:
    """A setting; `bounds` are the fields of `Key` behind `help` that are not as usual."""
    return field(default=default, metadata={"help": text, "name": name, "bounds": bounds})


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a person can set. `providers` maps a name to the table `[providers.NAME]`.

    `fixed` names the keys that a flag or a variable set: they stand above a workspace.
    """

    model: str = _key("", "model to use: a name of `limnos model list`, or PROVIDER/MODEL", "model")
    mode: str = _key("ask", "ask, auto or yolo", "mode", choices=("ask", "auto", "yolo"))
    fallback: str = _key("", "models to try when the first is unavailable, separated by commas", "fallback")
    steps: int = _key(25, "steps a turn may have", "steps", least=1)
    turn_seconds: float = _key(3600.0, "seconds a turn may take", "turn.seconds", least=1)
    turn_tokens: int = _key(2_000_000, "tokens a turn may use", "turn.tokens", least=1)
    cap_turn: str = _key("", "money a turn may cost; empty: no cap", "cap.turn", money=True)
    cap_day: str = _key("", "money a day may cost; empty: no cap", "cap.day", money=True)
    cap_persona: str = _key("", "money the persona may cost in all; empty: no cap", "cap.persona", money=True)
    approval_seconds: float = _key(
        300.0, "seconds until an unanswered question is a no", "approval.seconds", least=1
    )
    grace_seconds: float = _key(5.0, "seconds a cancelled call has to end", "grace.seconds")
    reply_tokens: int = _key(
        1024, "tokens kept free for the reply, reasoning included", "context.reserve", least=16
    )
    window_share: float = _key(
        0.8, "share of the model's window that a request may fill", "context.share", least=0.05, most=1
    )
    prune_target: float = _key(
        0.6, "share of the budget a prune leaves", "context.prune_target", least=0.05, most=0.95
    )
    inline_characters: int = _key(
        60_000, "longest tool result that is shown whole", "context.inline", least=200
    )
    catalogue_share: float = _key(
        0.2, "share of the budget that tool schemas may take", "catalogue.share", most=1
    )
    overflow: float = _key(
        1.0, "share of the budget above which steps sink", "context.overflow", least=0.1, most=1.25
    )
    newest: int = _key(10, "newest steps that a prune keeps while they fit", "context.newest", least=1)
    ledger_share: float = _key(
        0.15, "share of the budget for the identifiers of what has sunk", "context.ledger", most=0.15
    )
    recall: str = _key(
        "auto",
        "auto or off: whether memory puts beside an input what belongs to it",
        "memory.recall",
        choices=("auto", "off"),
    )
    recall_share: float = _key(
        0.15, "share of the budget that automatic recall may take", "context.recall", least=0.01, most=0.5
    )
    embedder: str = _key(
        "local",
        "what finds by meaning: local (a small model of its own), off (words only), or PROVIDER/MODEL",
        "memory.embedder",
    )
    embedder_dimensions: int = _key(
        1024,
        "length of the vectors that PROVIDER/MODEL of memory.embedder gives",
        "memory.dimensions",
        least=8,
    )
    always: str = _key(
        "offer",
        "offer or hide: whether questions offer *always*",
        "approval.always",
        choices=("offer", "hide"),
    )
    command_folders: str = _key(
        "",
        "more folders that commands may see, separated by colons; PATH:rw to write there",
        "command.folders",
    )
    command_seconds: float = _key(60.0, "seconds a command may run", "command.seconds", least=1)
    embedded_threads: int = _key(
        0, "processor threads of the embedded model; 0: as many as are idle at its start", "embedded.threads"
    )
    agents: str = _key(
        "auto",
        "sub-agents: auto (offered, but not to the embedded model), on (with full schema) or off",
        "agents",
        choices=("auto", "on", "off"),
    )
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    fixed: frozenset[str] = field(default_factory=frozenset[str])


class Key(NamedTuple):
    """One setting: its dotted name, the type of its value, its default and one line of help.

    `money`: a text that is empty or an amount.
    """

    name: str
    attribute: str
    kind: type
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = inf
    money: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "LIMNOS_" + self.name.upper().replace(".", "_")


def _keys() -> Iterator[Key]:
    for item in fields(Settings):
        if item.default is not MISSING:
            meta = item.metadata
            kind: type = type(cast("Value", item.default))
            yield Key(meta["name"], item.name, kind, item.default, meta["help"], **meta["bounds"])


KEYS: Mapping[str, Key] = {key.name: key for key in _keys()}
# What a trusted workspace may set: nothing that chooses models, keys, modes, rules or launch commands.
WORKSPACE_KEYS = frozenset({"steps", "context.inline", "command.seconds"})
