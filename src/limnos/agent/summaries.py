"""A session as the list shows it: most of a large file is only searched for a renaming, not parsed."""

import fcntl
import os
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from limnos.kernel.conversation import title_of
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    SessionChanged,
    SessionStarted,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from limnos.sdk.regular import open_regular
from limnos.store.records import read_records

UNREADABLE = "unreadable"
_EDGE = 65_536  # bytes parsed at each end of a file
_BLOCK = 1_048_576  # bytes searched at once for a renaming
_TRIES = 100  # lines that look like a renaming and are none: each costs a block to read
_RENAMED = b'"type":"session_changed"'
_TURNS = frozenset({TurnStarted.type, TurnSuspended.type, TurnResumed.type, TurnFinished.type})


class Summary(NamedTuple):
    """A session as the list shows it; `state` as in `service.client.SessionState`, or `unreadable`.

    One that is unreadable has as its title what is wrong with the file, and what to do.
    """

    id: str
    state: str
    updated: str
    persona: str
    title: str
    path: str
    last_seq: int


def summary(path: Path, persona: str) -> Summary | None:
    """One row; None for a file that went away meanwhile.

    A file of more than 64 KB is parsed at both ends, and searched from its end for the last renaming.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            first, last, renamed = _ends(file, size)
            locked = _is_locked(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        return unreadable(path, persona, error)
    if size and not last and not locked:
        fix = "put it back from a backup, or move it out of this folder"
        return _unreadable_row(path, persona, f"{path} holds no record that can be read; {fix}")
    newest = last[-1] if last else {}
    return Summary(
        id=_session_of(path),
        state=_state(last, locked),
        updated=str(newest.get("time", "")),
        persona=persona,
        title=_title([*first, *renamed]),
        path=str(path),
        last_seq=int(newest.get("seq", 0)),
    )


def unreadable(path: Path, persona: str, error: OSError) -> Summary:
    """The row of a file or folder that the system does not let us read."""
    title = f"{path} cannot be read: {error.strerror}; check the disk, and who owns it"
    return _unreadable_row(path, persona, title)


def _unreadable_row(path: Path, persona: str, title: str) -> Summary:
    return Summary(_session_of(path), UNREADABLE, "", persona, title, str(path), 0)


def written_ns(path: Path) -> int:
    """When a file was last written, in nanoseconds since 1970; 0 when nobody can tell."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _session_of(path: Path) -> str:
    return path.stem.rsplit("-", 1)[-1]


_Records: TypeAlias = list[dict[str, Any]]


def _ends(file: BinaryIO, size: int) -> tuple[_Records, _Records, _Records]:
    """The first records, the last ones, and the last renaming when it may stand between them.

    All records are both first and last ones when the file is small.
    """
    head = _read(file, 0, _EDGE)
    if size <= _EDGE:
        records = read_records(head).records
        return records, records, []
    first = read_records(head[: head.rfind(b"\n") + 1]).records
    return first, _last_records(file, size), _renaming(file, size)


def _read(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _last_records(file: BinaryIO, size: int) -> _Records:
    """The records at the end; one that is larger than the end is read whole."""
    edge = _EDGE
    while True:
        start = max(size - edge, 0)
        data = _read(file, start, size)
        if start:
            data = data[data.find(b"\n") + 1 or len(data) :]
        records = read_records(data).records
        if records or not start:
            return records
        edge *= 4


def _renaming(file: BinaryIO, size: int) -> _Records:
    """The record of the last renaming, looked for from the end; it is a short line.

    The same bytes may stand in a call's arguments, in a damaged line, or in a change of something else:
    then the search goes on before that line, `_TRIES` times.
    """
    end = size
    for _ in range(_TRIES):
        place = _last_mark(file, end)
        if place < 0:
            break
        end, records = _line_around(file, place)
        renamings = [record for record in records if _renames(record)]
        if renamings:
            return renamings[-1:]
    return []


def _last_mark(file: BinaryIO, end: int) -> int:
    """Where the last mark of a renaming that begins before `end` begins; -1 when there is none."""
    while end > 0:
        start = max(end - _BLOCK, 0)
        place = _read(file, start, end + len(_RENAMED) - 1).rfind(_RENAMED)
        if place >= 0:
            return start + place
        end = start
    return -1


def _line_around(file: BinaryIO, place: int) -> tuple[int, _Records]:
    """Where the line around `place` begins, as far back as a short one can, and its records."""
    start = max(place - _EDGE, 0)
    before, after = _read(file, start, place), _read(file, place, place + _EDGE)
    begin = before.rfind(b"\n") + 1
    return start + begin, read_records(before[begin:] + after.partition(b"\n")[0]).records


def _renames(record: dict[str, Any]) -> bool:
    return record["type"] == SessionChanged.type and bool(record.get("title"))


def _title(records: _Records) -> str:
    titles = [record["title"] for record in records if _renames(record)]
    if titles:
        return str(titles[-1])
    first = next((record for record in records if record["type"] == TurnStarted.type), None)
    return title_of(str(first.get("input", ""))) if first else ""


def _state(last: _Records, locked: bool) -> str:
    """How the last turn stands. `last` are the last records: without a turn in them one is still open."""
    turn = next((record for record in reversed(last) if record["type"] in _TURNS), None)
    if turn is None and last and last[0]["type"] == SessionStarted.type:
        return "empty"
    if turn is not None and turn["type"] == TurnFinished.type and not turn.get("set_aside"):
        reason = str(turn.get("reason", "failed"))
        return "stopped" if reason == "terminated" else reason
    if not locked:
        return "interrupted" if last else "empty"
    unanswered = _approvals(last, ApprovalAsked.type) - _approvals(last, ApprovalAnswered.type)
    return "waiting" if unanswered else "working"


def _approvals(records: _Records, kind: str) -> set[str]:
    return {str(record.get("approval")) for record in records if record["type"] == kind}


def _is_locked(file: BinaryIO) -> bool:
    """Whether some process writes this session now."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
