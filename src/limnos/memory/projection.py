"""What the rows of a session are, as a pure function of its log.

The same fold serves a session that runs and one that is read again, so both give the same rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from limnos.kernel.conversation import Conversation
from limnos.kernel.events import (
    AgentFinished,
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProposed,
    Event,
    FileChanged,
    InputInjected,
    JobChanged,
    SessionChanged,
    SessionStarted,
    StepsRecalled,
    TurnStarted,
)
from limnos.kernel.units import Recalled, Said, Step, Unit
from limnos.memory.taint import Taint, union
from limnos.memory.tainting import Tainting

WINDOW, COLD, GRAPH = "window", "cold", "graph"


class Stored(NamedTuple):
    """A unit as the database has it."""

    unit: Said | Step
    taint: Taint


@dataclass(slots=True)
class Draft:
    """A unit to be written. `reply` is the taint of what was said in it, `results` that of each result.

    `payloads` are the blobs of its results, by call.
    """

    unit: Said | Step
    agent: str
    reply: Taint
    results: dict[str, Taint] = field(default_factory=dict[str, Taint])
    payloads: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def taint(self) -> Taint:
        """That of the whole unit."""
        return union((self.reply, *self.results.values()))

    @property
    def is_open(self) -> bool:
        """Whether something may still be added to it."""
        return isinstance(self.unit, Step) and self.unit.open


def seq_of(unit: str) -> int:
    """The number in a unit's id; -1 for what is none."""
    digits = unit.rpartition("#")[2]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else -1


class Changes(NamedTuple):
    """What became of the rows since the last time; units are named by their numbers."""

    units: Sequence[Draft]
    holders: Mapping[int, str]
    dropped: Sequence[int]
    calls: Sequence[str]
    clients: Sequence[str]
    kept: Sequence[Event]


class Projection:
    """Folds the events of a session behind `conversation`, whose units are those of the window.

    `load` gives units of the database by their ids. `conversation` is changed.
    """

    def __init__(self, conversation: Conversation, load: Callable[[Sequence[str]], Sequence[Stored]]) -> None:
        conversation.shelf = self
        self.conversation = conversation
        self._agents: dict[str, Conversation] = {}
        self._taints = Tainting()
        self._load = load
        self._fetched: dict[int, Unit] = {}
        self._drafts: dict[int, Draft] = {}
        self._asked: dict[str, ApprovalAsked] = {}
        self._forget()

    def _forget(self) -> None:
        self._holders: dict[int, str] = {}
        self._dropped: list[int] = []
        self._calls: list[str] = []
        self._clients: list[str] = []
        self._kept: list[Event] = []

    def apply(self, event: Event) -> None:
        """Take one more event."""
        owner = self._owner(event.agent)
        before = owner.units[-1] if owner.units else None
        if isinstance(event, StepsRecalled) and owner is self.conversation:
            self._fetch(event)
        self.conversation.apply(event)
        if owner is not self.conversation:
            owner.apply(event)
        reply = self._taints.of_reply(event)
        self._taints.apply(event)
        self._compare(event, owner, before, reply)
        self._note(event)
        if isinstance(event, AgentFinished):
            self._end(event.agent)

    def take_changes(self) -> Changes:
        """What is to be written now; steps that are open wait."""
        waiting = {seq: draft for seq, draft in self._drafts.items() if draft.is_open}
        changes = Changes(
            [draft for seq, draft in self._drafts.items() if seq not in waiting],
            {seq: holder for seq, holder in self._holders.items() if seq not in waiting},
            self._dropped,
            self._calls,
            self._clients,
            self._kept,
        )
        held = {seq: holder for seq, holder in self._holders.items() if seq in waiting}
        self._forget()
        self._drafts, self._holders = waiting, held
        return changes

    def put(self, units: Sequence[Unit]) -> None:
        """See `kernel.units.Shelf`."""
        self._holders.update((unit.seq, COLD) for unit in units if not isinstance(unit, Recalled))

    def take(self, ids: Sequence[str]) -> Sequence[Unit]:
        """See `kernel.units.Shelf`."""
        taken = [self._fetched[seq] for one in ids if (seq := seq_of(one)) in self._fetched]
        self._holders.update((unit.seq, WINDOW) for unit in taken)
        return taken

    def _fetch(self, event: StepsRecalled) -> None:
        """Have at hand what is recalled, and what it is made of in the turn."""
        drafts = [draft for one in event.units if (draft := self._drafts.get(seq_of(one))) is not None]
        known = {draft.unit.id for draft in drafts}
        stored = self._load([one for one in event.units if one not in known])
        self._fetched = {one.unit.seq: one.unit for one in (*drafts, *stored)}
        self._taints.recalled(event, (one.taint for one in (*drafts, *stored)))

    def _owner(self, agent: str) -> Conversation:
        if not agent:
            return self.conversation
        found = self._agents.get(agent)
        if found is None:
            found = self._agents[agent] = Conversation(agent, self)
        return found

    def _compare(self, event: Event, owner: Conversation, before: Unit | None, reply: Taint) -> None:
        """See what `event` did to the newest unit: begun, changed, or put in the place of a broken one."""
        newest = owner.units[-1] if owner.units else None
        if newest is None or isinstance(newest, Recalled):
            return
        if newest is not before:
            if newest.seq != event.seq:
                return
            if isinstance(before, Step) and not any(one is before for one in owner.units[-2:]):
                self._drop(before.seq)
            said_by = self._taints.of_input(event) if isinstance(newest, Said) else reply
            self._drafts[newest.seq] = Draft(newest, owner.agent, said_by)
            self._holders[newest.seq] = WINDOW
        draft = self._drafts.get(newest.seq)
        if draft is not None and isinstance(event, CallFinished):
            draft.results[event.call] = self._taints.of_result(event)
            if event.block:
                draft.payloads[event.call] = event.block

    def _drop(self, seq: int) -> None:
        self._drafts.pop(seq, None)
        self._holders.pop(seq, None)
        self._dropped.append(seq)

    def _end(self, agent: str) -> None:
        """A sub-agent has ended: nobody has a window with its units any more."""
        ended = self._agents.pop(agent, None)
        for unit in () if ended is None else ended.units:
            if not isinstance(unit, Recalled):
                self._holders[unit.seq] = COLD

    def _note(self, event: Event) -> None:
        """What a session needs of its log when it is opened behind the place that is saved."""
        match event:
            case SessionStarted() | SessionChanged() | FileChanged() | JobChanged():
                self._kept.append(event)
            case ApprovalAsked():
                self._asked[event.approval] = event
            case ApprovalAnswered():
                asked = self._asked.pop(event.approval, None)
                if event.answer == "always" and asked is not None:
                    self._kept += [asked, event]
            case CallProposed():
                self._calls.append(event.call)
            case TurnStarted() | InputInjected():
                self._clients.append(event.client_id)
            case _:
                pass
