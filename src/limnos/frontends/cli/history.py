"""What a session holds already, read from its audit log."""

from pathlib import Path

from limnos.kernel.events import Event
from limnos.service.client import Session
from limnos.store.audit import read_history


def past_events(session: Session) -> tuple[Event, ...]:
    """The persisted events; none for a session that has no file yet."""
    path = Path(session.path)
    return read_history(path).events if path.exists() else ()
