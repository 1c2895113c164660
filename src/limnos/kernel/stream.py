"""The one place where an event gets its number, reaches the disk and then everybody who listens."""

from collections.abc import Callable
from typing import TypeVar

from limnos.kernel.conversation import Conversation
from limnos.kernel.events import Event
from limnos.kernel.masking import Mask
from limnos.kernel.seams import Clock, EventLog, Listener
from limnos.kernel.units import MemoryShelf

E = TypeVar("E", bound=Event)
# More than the events that are not kept take between two that are: the pieces of a long reply, or a quarter
# of an hour of a command's output.
UNSEEN = 10_000
_NO_MASK = Mask()


class EventStream:
    """The events of one session: masked, stamped, written, folded into the conversation, then told.

    `mask` is also for text that is cut or kept elsewhere before it becomes part of an event.
    """

    def __init__(
        self,
        session: str,
        log: EventLog,
        clock: Clock,
        conversation: Conversation,
        mask: Mask = _NO_MASK,
    ) -> None:
        self.session = session
        self.agent = conversation.agent
        self.conversation = conversation
        self.clock = clock
        self.turn = conversation.turn
        self.step = conversation.step
        self.log = log
        self.mask = mask
        # after a crash in mid-turn somebody may have seen numbers of events that are not on the disk
        self._seq = conversation.last_seq + (UNSEEN if conversation.unfinished else 0)
        self._listeners: list[Listener] = []

    @property
    def whole(self) -> "EventStream":
        """The stream of the session."""
        return self

    def emit(self, event: E, *, durable: bool = False) -> E:
        """Stamp `event` and send it on; what is persisted is written before anybody hears of it.

        Raises errors.StorageError when it cannot be written; then nobody hears of it.
        """
        stamped = self._stamped(event)
        if event.persisted:
            self.log.append(stamped, durable=durable)
            self.conversation.apply(stamped)
        self._tell(stamped)
        return stamped

    def tell(self, event: E) -> E:
        """Send on an event that cannot be written because the disk refuses; nobody waits in vain."""
        stamped = self._stamped(event)
        self._tell(stamped)
        return stamped

    def _stamped(self, event: E) -> E:
        return self.mask(event).changed(
            seq=self._seq + 1,
            time=self.clock.now(),
            session=self.session,
            turn=event.turn or self.turn,
            step=event.step or self.step,
        )

    def _tell(self, stamped: Event) -> None:
        self._seq += 1
        for listener in tuple(self._listeners):
            listener(stamped)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of every event from now on; returns what ends that, to be called once."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)


class AgentStream(EventStream):
    """A sub-agent's side of the stream of its session.

    Its events carry its path and the turn it works for; its conversation and its steps are its own. Ids of
    calls are unique in the whole session.
    """

    def __init__(self, whole: EventStream, agent: str) -> None:
        conversation = Conversation(agent, MemoryShelf())
        conversation.call_ids = whole.conversation.call_ids
        super().__init__(whole.session, whole.log, whole.clock, conversation, whole.mask)
        self._whole = whole
        self.turn = whole.turn

    @property
    def whole(self) -> EventStream:
        """See `EventStream`."""
        return self._whole

    def emit(self, event: E, *, durable: bool = False) -> E:
        """See `EventStream`."""
        told = self.whole.emit(self._signed(event), durable=durable)
        if event.persisted:
            self.conversation.apply(told)
        return told

    def tell(self, event: E) -> E:
        """See `EventStream`."""
        return self.whole.tell(self._signed(event))

    def listen(self, listener: Listener) -> Callable[[], None]:
        """See `EventStream`; the events are those of the whole session."""
        return self.whole.listen(listener)

    def _signed(self, event: E) -> E:
        return event.changed(agent=self.agent, turn=self.turn, step=event.step or self.step)
