"""A conversation between two turns as one JSON object: a long session opens without reading it all."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from limnos.kernel.conversation import Conversation
from limnos.kernel.units import Shelf, Unit
from limnos.kernel.window_state import Sizes


def may_be_saved(conversation: Conversation) -> bool:
    """Whether nothing is open: no turn, no step, no sub-agent."""
    return not (conversation.unfinished or conversation.open_step or conversation.agents.open)


def saved(conversation: Conversation) -> dict[str, Any]:
    """All but the ids that were taken, and of the units only their ids. Costs what the window does.

    To be called only when it `may_be_saved`.
    """
    window = conversation.window
    return {
        "title": conversation.title,
        "plan": list(conversation.plan),
        "turns": conversation.turns,
        "turn": conversation.turn,
        "step": conversation.step,
        "last_seq": conversation.last_seq,
        "units": [unit.id for unit in conversation.units],
        "agents": conversation.agents.highest,
        "markers": list(window.markers),
        "ledger": window.ledger,
        "held": sorted(window.held),
        "pinned": sorted(window.pinned),
        "seen": list(window.seen),
        "sunk": window.sunk,
        "sizes": list(window.sizes or ()),
    }


def restored(
    state: Mapping[str, Any],
    units: Sequence[Unit],
    *,
    call_ids: Iterable[str],
    client_ids: Iterable[str],
    shelf: Shelf,
) -> Conversation:
    """The conversation that `saved` gave `state`; `units` are those of its ids, in that order.

    Raises KeyError, TypeError or ValueError for a state that is damaged.
    """
    conversation = Conversation(shelf=shelf)
    conversation.title = str(state["title"])
    conversation.plan = list(state["plan"])
    conversation.turns = int(state["turns"])
    conversation.last.turn, conversation.last.step = int(state["turn"]), int(state["step"])
    conversation.last_seq = int(state["last_seq"])
    if [unit.id for unit in units] != list(state["units"]):
        raise ValueError("units of the window are missing")
    conversation.units = list(units)
    conversation.agents.highest.update({str(path): int(n) for path, n in dict(state["agents"]).items()})
    conversation.call_ids, conversation.client_ids = set(call_ids), set(client_ids)
    window = conversation.window
    window.markers, window.ledger = list(state["markers"]), str(state["ledger"])
    window.held, window.pinned = set(state["held"]), set(state["pinned"])
    window.seen, window.sunk = dict.fromkeys(state["seen"]), int(state["sunk"])
    window.sizes = Sizes(*map(int, state["sizes"])) if state["sizes"] else None
    return conversation
