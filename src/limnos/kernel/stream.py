"""The one place where an event gets its number, reaches the disk and then everybody who listens."""

from typing import TypeVar

from limnos.kernel.conversation import Conversation
from limnos.kernel.events import Event
from limnos.kernel.masking import Mask
from limnos.kernel.seams import Clock, EventLog, Listener

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
        self.conversation = conversation
        self.clock = clock
        self.turn = conversation.turn
        self.step = conversation.step
        self._log = log
        self.mask = mask
        # after a crash in mid-turn somebody may have seen numbers of events that are not on the disk
        self._seq = conversation.last_seq + (UNSEEN if conversation.unfinished else 0)
        self._listeners: list[Listener] = []

    def emit(self, event: E, *, durable: bool = False) -> E:
        """Stamp `event` and send it on; what is persisted is written before anybody hears of it.

        Raises errors.StorageError when it cannot be written; then nobody hears of it.
        """
        stamped = self._stamped(event)
        if event.persisted:
            self._log.append(stamped, durable=durable)
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

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of every event from now on."""
        self._listeners.append(listener)
