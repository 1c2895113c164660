"""The sessions of a persona on disk: where they lie, what state they are in, forks."""

import fcntl
import mmap
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from limnos.kernel.conversation import fold, title_of
from limnos.kernel.errors import UsageError
from limnos.kernel.events import (
    EXIT_CODES,
    ApprovalAnswered,
    Event,
    SessionStarted,
    StepFinished,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    to_record,
)
from limnos.kernel.seams import Clock
from limnos.store.audit import read_history
from limnos.store.records import encode_record, parse_record, read_records
from limnos.store.whole import storage_error, write_whole

_EDGE = 65_536
_RENAMED = b'"type":"session_changed"'
_TURNS = frozenset({TurnStarted.type, TurnResumed.type, TurnFinished.type})


class Summary(NamedTuple):
    """A session as the list shows it; `state` as in `service.client.SessionState`."""

    id: str
    state: str
    updated: str
    persona: str
    title: str
    path: str
    last_seq: int


class SessionFiles:
    """`personas/<name>/sessions/<yyyy>/<mm>/<stamp>-<id>.jsonl`."""

    def __init__(self, home: Path, persona: str, clock: Clock) -> None:
        self._folder = home / "personas" / persona / "sessions"
        self._persona = persona
        self._clock = clock

    def new_path(self, session: str) -> Path:
        """Where a new session is written."""
        now = self._clock.now()
        stamp = now[:19].replace("-", "").replace(":", "")
        return self._folder / now[:4] / now[5:7] / f"{stamp}-{session}.jsonl"

    def find(self, session: str) -> Path:
        """The file of a session. Raises UsageError when there is none."""
        found = sorted(self._files(f"*-{session}.jsonl")) if session.isalnum() else []
        if not found:
            raise UsageError(f"there is no session {session!r}", "limnos sessions")
        return found[0]

    def _files(self, pattern: str) -> Iterator[Path]:
        """What lies there under such a name; a pipe, a folder or a link to nowhere is no session."""
        return (path for path in self._folder.glob(f"*/*/{pattern}") if path.is_file())

    def started_in(self, path: Path) -> str:
        """The folder that a session was started in; empty when its file does not say. Raises StorageError."""
        try:
            with path.open("rb") as file:
                first = parse_record(file.readline(_EDGE))
        except OSError as error:
            raise storage_error(path, error, "try again") from None
        return str(first.get("cwd", "")) if first and first["type"] == SessionStarted.type else ""

    def exists(self, session: str) -> bool:
        """Whether the id is taken."""
        return any(self._folder.glob(f"*/*/*-{session}.jsonl"))

    def newest(self) -> Iterator[Path]:
        """All session files, the one written last first."""
        files = [(_written(path), path.name, path) for path in self._files("*.jsonl")]
        return (path for _, _, path in sorted(files, reverse=True))

    def summaries(self, limit: int | None = None) -> list[Summary]:
        """The newest sessions; reads the beginning and the end of each file, 64 KB if that holds a record."""
        found = (row for path in self.newest() if (row := self._summary(path)) is not None)
        rows = list(islice(found, None if limit is None else min(limit, sys.maxsize)))
        return sorted(rows, key=lambda row: row.updated, reverse=True)

    def _summary(self, path: Path) -> Summary | None:
        """One row; None for a file that went away meanwhile. Raises StorageError."""
        try:
            with path.open("rb") as file:
                head, tail, renamed = _ends(file)
                locked = _is_locked(file)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(path, error, "try again") from None
        recent = tail or head
        last = recent[-1] if recent else {}
        return Summary(
            id=path.stem.rsplit("-", 1)[-1],
            state=_state(recent, locked),
            updated=str(last.get("time", "")),
            persona=self._persona,
            title=_title([*head, *renamed]),
            path=str(path),
            last_seq=int(last.get("seq", 0)),
        )

    def fork(self, session: str, fresh: str, seq: int | None) -> Path:
        """Copy the events up to the end of a step at or before `seq` into the session `fresh`.

        The copy is whole or absent. Raises UsageError when no step has ended by then.
        """
        source = read_history(self.find(session))
        events = _up_to_step(source.events, seq)
        if not events:
            raise UsageError(
                f"session {session} has no finished step{'' if seq is None else f' at {seq}'}",
                f"limnos replay {session} lists them",
            )
        path = self.new_path(fresh)
        copied = [_copied(event, fresh, f"{session}#{events[-1].seq}") for event in events]
        copied += self._ended(copied)
        try:
            write_whole(path, b"".join(encode_record(to_record(event)) for event in copied))
        except OSError as error:
            raise storage_error(path, error, "try again") from None
        return path

    def _ended(self, events: list[Event]) -> list[Event]:
        """The terminal event that a fork in mid-turn lacks."""
        conversation = fold(events)
        if not conversation.turn_open:
            return []
        last = events[-1]
        now = self._clock.now()
        note = StepFinished(
            text="[forked here]", finish="interrupted",
            seq=last.seq + 1, time=now, session=last.session, turn=last.turn, step=last.step,
        )  # fmt: skip
        end = TurnFinished(
            reason="stopped", exit=EXIT_CODES["stopped"], message="forked here",
            steps=last.step, calls=0, ms=0, tokens=0,
            seq=last.seq + 2, time=now, session=last.session, turn=last.turn, step=last.step,
        )  # fmt: skip
        return [note, end]


def _copied(event: Event, session: str, origin: str) -> Event:
    """An event of a fork. What was said yes to for one session holds for that one only."""
    match event:
        case SessionStarted():
            return event.changed(session=session, forked_from=origin)
        case ApprovalAnswered(answer="always"):
            return event.changed(session=session, answer="once", rule=None)
        case _:
            return event.changed(session=session)


def _up_to_step(events: tuple[Event, ...], seq: int | None) -> list[Event]:
    end = 0
    for place, event in enumerate(events):
        if seq is not None and event.seq > seq:
            break
        if isinstance(event, StepFinished | TurnFinished):
            end = place + 1
    return list(events[:end])


def _written(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


_Records = list[dict[str, Any]]


def _ends(file: BinaryIO) -> tuple[_Records, _Records, _Records]:
    """The first records, the last ones unless the first are all, and the last renaming wherever it stands."""
    head = file.read(_EDGE)
    size = os.fstat(file.fileno()).st_size
    if size <= _EDGE:
        records = read_records(head).records
        return records, [], records
    first = read_records(head[: head.rfind(b"\n") + 1]).records
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return first, _last_records(data), _line_around(data, data.rfind(_RENAMED))


def _last_records(data: mmap.mmap) -> _Records:
    """The records at the end; one that is larger than the end is read whole."""
    edge = _EDGE
    while True:
        start = max(len(data) - edge, 0)
        if start:
            start = data.find(b"\n", start) + 1 or len(data)
        records = read_records(data[start:]).records
        if records or edge >= len(data):
            return records
        edge *= 4


def _line_around(data: mmap.mmap, place: int) -> _Records:
    if place < 0:
        return []
    start = data.rfind(b"\n", 0, place) + 1
    end = data.find(b"\n", place)
    return read_records(data[start : end if end >= 0 else len(data)]).records


def _title(records: list[dict[str, Any]]) -> str:
    titles = [
        record["title"] for record in records if record["type"] == "session_changed" and record.get("title")
    ]
    if titles:
        return str(titles[-1])
    first = next((record for record in records if record["type"] == TurnStarted.type), None)
    return title_of(str(first.get("input", ""))) if first else ""


def _state(recent: list[dict[str, Any]], locked: bool) -> str:
    """What the last turn is in. `recent` are the last records: without a turn in them one is still open."""
    turn = next((record for record in reversed(recent) if record["type"] in _TURNS), None)
    if turn is None and recent and recent[0]["type"] == SessionStarted.type:
        return "empty"
    if turn is not None and turn["type"] == TurnFinished.type:
        reason = str(turn.get("reason", "failed"))
        return "stopped" if reason == "terminated" else reason
    if not locked:
        return "interrupted" if recent else "empty"
    asked = {record["approval"] for record in recent if record["type"] == "approval_asked"}
    answered = {record["approval"] for record in recent if record["type"] == "approval_answered"}
    return "waiting" if asked - answered else "working"


def _is_locked(file: BinaryIO) -> bool:
    """Whether some process writes this session now."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
