"""The sessions of a persona on disk: where they lie, the list of them, forks."""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from limnos.agent.summaries import Summary, summary, unreadable, written_ns
from limnos.kernel.conversation import fold
from limnos.kernel.errors import UsageError
from limnos.kernel.events import (
    EXIT_CODES,
    ApprovalAnswered,
    Event,
    SessionStarted,
    StepFinished,
    TurnFinished,
)
from limnos.kernel.seams import Clock
from limnos.sdk.regular import open_regular
from limnos.store.audit import line_of, read_history
from limnos.store.records import parse_record
from limnos.store.whole import storage_error, write_whole

_FIRST_LINE = 65_536
_NOTHING_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


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
        return (path for path in self._folder.glob(f"*/*/{pattern}") if _may_be_read(path))

    def logs(self) -> list[Path]:
        """The files of all sessions."""
        return list(self._files("*.jsonl"))

    def started_in(self, path: Path) -> str:
        """The folder that a session was started in; empty when its file does not say."""
        try:
            with open_regular(path) as file:
                first = parse_record(file.readline(_FIRST_LINE))
        except OSError:
            return ""
        return str(first.get("cwd", "")) if first and first["type"] == SessionStarted.type else ""

    def exists(self, session: str) -> bool:
        """Whether the id is taken."""
        return any(self._folder.glob(f"*/*/*-{session}.jsonl"))

    def summaries(self, limit: int | None = None) -> list[Summary]:
        """The newest sessions, and what could not be read of them: one bad file hides no other."""
        files = sorted(self._files("*.jsonl"), key=lambda path: (written_ns(path), path.name), reverse=True)
        found = (row for path in files if (row := summary(path, self._persona)) is not None)
        rows = [*self._closed_folders(), *islice(found, None if limit is None else min(limit, sys.maxsize))]
        return sorted(rows, key=lambda row: row.updated, reverse=True)

    def _closed_folders(self) -> Iterator[Summary]:
        """Folders that nobody lets us look into."""
        for folder in (self._folder, *self._folder.glob("*/"), *self._folder.glob("*/*/")):
            try:
                os.scandir(folder).close()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                yield unreadable(folder, self._persona, error)

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
            write_whole(path, b"".join(map(line_of, copied)))
        except OSError as error:
            raise storage_error(path, error, "try again") from None
        return path

    def _ended(self, events: list[Event]) -> list[Event]:
        """The terminal events that a fork in mid-turn lacks."""
        conversation = fold(events)
        if not conversation.unfinished:
            return []
        last, now, ended = events[-1], self._clock.now(), list[Event]()
        open_turns = [conversation.last.turn] if conversation.turn_open else []
        open_turns += [begun.turn for begun in reversed(conversation.suspended)]
        for place, turn in enumerate(open_turns):
            for event in (
                StepFinished(text="[forked here]", finish="interrupted"),
                TurnFinished(
                    reason="stopped", exit=EXIT_CODES["stopped"], message="forked here",
                    steps=last.step, calls=0, ms=0, tokens=0, set_aside=len(open_turns) - place - 1,
                ),
            ):  # fmt: skip
                seq = last.seq + len(ended) + 1
                ended.append(
                    event.changed(seq=seq, time=now, session=last.session, turn=turn, step=last.step)
                )
        return ended


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
        if isinstance(event, StepFinished | TurnFinished) and not event.agent:
            end = place + 1
    return list(events[:end])


def _may_be_read(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        return error.errno not in _NOTHING_THERE  # who tries learns why it cannot be read
