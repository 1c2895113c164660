"""What stands in the window: units, markers for what has sunk, the ledger, and which units are shown cut."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from limnos.kernel.conversation import Conversation
from limnos.kernel.units import Step, Unit


class Standing(NamedTuple):
    """All that a request shows of a session.

    `notes` is the data of the markers as the log keeps it: spans of what has sunk, and one note for each unit
    that is shown cut. `hidden` is the turn whose broken-off reply is asked for again, 0 for none.
    """

    units: Sequence[Unit]
    notes: Sequence[Mapping[str, Any]]
    ledger: str
    hidden: int

    @property
    def spans(self) -> list[Mapping[str, Any]]:
        """The notes that are markers, oldest first."""
        return [note for note in self.notes if "cut" not in note]

    @property
    def cuts(self) -> dict[str, int]:
        """How many characters each text of a unit that is shown cut may have."""
        return {str(note["cut"]): int(note["characters"]) for note in self.notes if "cut" in note}

    def hides(self, unit: Unit) -> bool:
        """Whether `unit` is a reply that broke off in the turn that runs: it is asked for again."""
        return isinstance(unit, Step) and not unit.complete and unit.turn == self.hidden


def standing(conversation: Conversation) -> Standing:
    """What stands now, as the events of the session say."""
    window = conversation.window
    turn = conversation.turn if conversation.turn_open else 0
    return Standing(conversation.units, window.markers, window.ledger, turn)
