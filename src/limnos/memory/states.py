"""A conversation between two turns as the database keeps it, and back."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from limnos.kernel.conversation import Conversation
from limnos.kernel.saved import restored, saved
from limnos.kernel.units import Recalled, Shelf, Unit
from limnos.memory.projection import Stored, seq_of


class NoShelf:
    """Takes nothing and gives nothing; for a conversation that gets its shelf in a moment."""

    def put(self, units: Sequence[Unit]) -> None:
        """See `kernel.units.Shelf`."""

    def take(self, ids: Sequence[str]) -> Sequence[Unit]:
        """See `kernel.units.Shelf`."""
        return ()


def state_of(conversation: Conversation) -> dict[str, Any]:
    """What `conversation_of` needs; what memory put into the window stands in it whole, it has no row."""
    recalled = [unit for unit in conversation.units if isinstance(unit, Recalled)]
    copies = [[unit.seq, unit.turn, unit.time, unit.text] for unit in recalled]
    return {**saved(conversation), "recalled": copies}


def conversation_of(
    state: dict[str, Any],
    load: Callable[[Sequence[str]], Sequence[Stored]],
    taken: tuple[Iterable[str], Iterable[str]],
    shelf: Shelf | None = None,
) -> Conversation:
    """The conversation that `state_of` gave `state`; `taken` are the ids of calls and of clients.

    Raises ValueError when the state is damaged, or units of its window are not there.
    """
    calls, clients = taken
    try:
        copies = {unit.id: unit for unit in (Recalled(*fields) for fields in state["recalled"])}
        wanted = [str(one) for one in state["units"]]
        units: dict[str, Unit] = {
            one.unit.id: one.unit for one in load([i for i in wanted if i not in copies])
        }
        units.update(copies)
        standing = [units[one] for one in wanted]
        return restored(
            state, standing, call_ids=calls, client_ids=clients, shelf=NoShelf() if shelf is None else shelf
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"a state that was saved is damaged: {error}") from None


def seqs_of(ids: Iterable[str]) -> list[int]:
    """The numbers in ids of units; what is no id is left out."""
    return [seq for seq in map(seq_of, ids) if seq >= 0]
