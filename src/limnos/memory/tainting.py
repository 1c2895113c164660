"""What each turn of a session has taken in so far: its inputs, its results, what memory put beside them."""

from collections.abc import Iterable

from limnos.kernel.events import (
    AgentFinished,
    AgentStarted,
    CallFinished,
    Event,
    InputInjected,
    MemoryRecalled,
    TurnFinished,
    TurnStarted,
)
from limnos.memory.taint import NOTHING, PERSONA, TRUSTED, UNTRUSTED, Taint, of_speaker, taint_of, union

MEMORY = "memory"
_OWN = Taint((PERSONA,))


class Tainting:
    """Folds the events of one session; a turn of a sub-agent is that of the agent above, and its own."""

    def __init__(self) -> None:
        self._turns: dict[tuple[str, int], Taint] = {}
        self._answers: dict[str, Taint] = {}

    def apply(self, event: Event) -> None:
        """Take one more event."""
        match event:
            case TurnStarted() | InputInjected():
                self.take_in(event, of_speaker(event.principal))
            case AgentStarted():
                above, _, _ = event.agent.rpartition("/")
                self.take_in(event, self._turns.get((above, event.turn), NOTHING))
            case MemoryRecalled() if event.trust == UNTRUSTED:
                self.take_in(event, Taint((MEMORY,), trusted=False))
            case CallFinished():
                self.take_in(event, self.of_result(event))
            case AgentFinished():
                self._answers[event.call] = self._turns.pop((event.agent, event.turn), NOTHING)
            case TurnFinished():
                self._turns = {key: one for key, one in self._turns.items() if key[1] != event.turn}
                self._answers.clear()
            case _:
                pass

    def take_in(self, event: Event, taint: Taint) -> None:
        """The turn of `event` read something of this taint."""
        key = (event.agent, event.turn)
        self._turns[key] = self._turns.get(key, NOTHING) | taint

    def recalled(self, event: Event, taints: Iterable[Taint]) -> None:
        """Units of these taints came back into the window of the turn of `event`."""
        bad = [taint for taint in taints if not taint.trusted]
        if bad:
            self.take_in(event, union(bad))

    def of_result(self, event: CallFinished) -> Taint:
        """That of a result; the answer of a sub-agent has what its turn took in."""
        return taint_of(event.origin, event.trust) | self._answers.get(event.call, NOTHING)

    def of_input(self, event: Event) -> Taint:
        """That of a message: of who said it, or of the turn when the persona, or limnos, says it again."""
        match event:
            case TurnStarted() | InputInjected():
                return of_speaker(event.principal)
            case _:
                return self._turns.get((event.agent, event.turn), NOTHING)

    def of_reply(self, event: Event) -> Taint:
        """That of what the persona says now: all that the turn has taken in up to here."""
        return _OWN | self._turns.get((event.agent, event.turn), NOTHING)


def is_trusted(trust: str) -> bool:
    """Whether the word in a record says so."""
    return trust == TRUSTED
