"""The sessions of a persona on disk: where they lie, what state they are in, forks."""

import fcntl
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from limnos.kernel.conversation import Conversation
from limnos.kernel.errors import UsageError
from limnos.kernel.events import Event, SessionStarted, StepFinished, TurnFinished, TurnStarted, to_record
from limnos.kernel.seams import Clock
from limnos.store.audit import read_history, storage_error
from limnos.store.records import encode_record, read_records

_EDGE = 65_536


@dataclass(frozen=True, slots=True)
class Summary:
    """A session as the list shows it; `state` as in `service.client.SessionState`."""

    id: str
    state: str
    updated: str
    persona: str
    title: str
    path: str
    events: int


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
        found = sorted(self._folder.glob(f"*/*/*-{session}.jsonl")) if session.isalnum() else []
        if not found:
            raise UsageError(f"there is no session {session!r}", "limnos sessions")
        return found[0]

    def exists(self, session: str) -> bool:
        """Whether the id is taken."""
        return any(self._folder.glob(f"*/*/*-{session}.jsonl"))

    def newest(self) -> Iterator[Path]:
        """All session files, the one begun last first."""
        return iter(sorted(self._folder.glob("*/*/*.jsonl"), key=lambda path: path.name, reverse=True))

    def summaries(self, limit: int | None = None) -> list[Summary]:
        """The newest sessions; reads only the first and the last 64 KB of each file."""
        rows = [self._summary(path) for path, _ in zip(self.newest(), _count(limit), strict=False)]
        return sorted(rows, key=lambda row: row.updated, reverse=True)

    def _summary(self, path: Path) -> Summary:
        head, tail = _edges(path)
        records = read_records(head).records + read_records(tail).records
        last = records[-1] if records else {}
        return Summary(
            id=path.stem.rsplit("-", 1)[-1],
            state=_state(records, _is_locked(path)),
            updated=str(last.get("time", "")),
            persona=self._persona,
            title=_title(records),
            path=str(path),
            events=int(last.get("seq", 0)),
        )

    def fork(self, session: str, fresh: str, seq: int | None) -> Path:
        """Copy the events up to the end of a step at or before `seq` into the session `fresh`.

        The copy is whole or absent. Raises UsageError when no step has ended by then.
        """
        source = read_history(self.find(session))
        events = _up_to_step(source.events, seq)
        if not events:
            raise UsageError(
                f"session {session} has no finished step at {seq}", f"limnos replay {session} lists them"
            )
        path = self.new_path(fresh)
        copied = [
            replace(event, session=fresh, forked_from=f"{session}#{events[-1].seq}")
            if isinstance(event, SessionStarted)
            else replace(event, session=fresh)
            for event in events
        ]
        copied += self._ended(copied)
        _write_whole(path, b"".join(encode_record(to_record(event)) for event in copied))
        return path

    def _ended(self, events: list[Event]) -> list[Event]:
        """The terminal event that a fork in mid-turn lacks."""
        conversation = fold(events)
        if not conversation.turn_open:
            return []
        last = events[-1]
        now = self._clock.now()
        note = StepFinished(
            text="[forked here]", finish="stopped",
            seq=last.seq + 1, time=now, session=last.session, turn=last.turn, step=last.step,
        )  # fmt: skip
        end = TurnFinished(
            reason="stopped", exit=130, steps=last.step, calls=0, ms=0, tokens=0, message="forked here",
            seq=last.seq + 2, time=now, session=last.session, turn=last.turn, step=last.step,
        )  # fmt: skip
        return [note, end]


def fold(events: list[Event] | tuple[Event, ...]) -> Conversation:
    """The conversation that `events` stand for."""
    conversation = Conversation()
    for event in events:
        conversation.apply(event)
    return conversation


def _up_to_step(events: tuple[Event, ...], seq: int | None) -> list[Event]:
    end = 0
    for place, event in enumerate(events):
        if seq is not None and event.seq > seq:
            break
        if isinstance(event, StepFinished | TurnFinished):
            end = place + 1
    return list(events[:end])


def _write_whole(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise storage_error(path, error) from None


def _count(limit: int | None) -> Iterator[int]:
    return iter(range(limit if limit is not None else 1_000_000))


def _edges(path: Path) -> tuple[bytes, bytes]:
    """The first and the last whole lines of a file; the second is empty when the first are all."""
    try:
        with path.open("rb") as file:
            head = file.read(_EDGE)
            size = os.fstat(file.fileno()).st_size
            if size <= _EDGE:
                return head, b""
            file.seek(max(size - _EDGE, _EDGE))
            tail = file.read(_EDGE)
    except OSError as error:
        raise storage_error(path, error) from None
    return head[: head.rfind(b"\n") + 1], tail[tail.find(b"\n") + 1 :]


def _title(records: list[dict[str, Any]]) -> str:
    titles = [
        record["title"] for record in records if record["type"] == "session_changed" and record.get("title")
    ]
    if titles:
        return str(titles[-1])
    first = next((record for record in records if record["type"] == TurnStarted.type), None)
    return str(first.get("input", "")).strip().split("\n")[0][:80] if first else ""


def _state(records: list[dict[str, Any]], locked: bool) -> str:
    if not any(record["type"] == TurnStarted.type for record in records):
        return "working" if locked else "empty"
    last = records[-1]
    if last["type"] == TurnFinished.type:
        reason = str(last.get("reason", "failed"))
        return "stopped" if reason == "terminated" else reason
    if not locked:
        return "interrupted" if _turn_open(records) else "done"
    asked = {record["approval"] for record in records if record["type"] == "approval_asked"}
    answered = {record["approval"] for record in records if record["type"] == "approval_answered"}
    return "waiting" if asked - answered else "working"


def _turn_open(records: list[dict[str, Any]]) -> bool:
    for record in reversed(records):
        if record["type"] == TurnFinished.type:
            return False
        if record["type"] in ("turn_started", "turn_resumed"):
            return True
    return True


def _is_locked(path: Path) -> bool:
    """Whether some process writes this session now."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except OSError:
        return True
