"""What the file tools changed in a session, and the way back.

Undo goes back one change at a time, the newest first. An undo is itself recorded, but cannot be undone: two
undos go two changes back, and a change made afterwards comes on top of what is left.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from limnos.kernel.errors import LimnosError
from limnos.kernel.events import Event, FileChanged
from limnos.kernel.seams import Blobs
from limnos.kernel.tools import ToolFailure
from limnos.sdk.files import Files

UNDO: Final = "undo"


class UndoError(LimnosError):
    """A change that cannot be taken back; the file stays as it is."""


class Undone(NamedTuple):
    """A change that was taken back: of the file `path`, which is there again or is `removed`.

    `left` says how many changes can still be taken back.
    """

    path: str
    removed: bool
    left: int


class History:
    """The changes of one session, folded from its events, so that it is the same after a restart.

    `emit` writes an event to the session's log; what it raises ends the method, and nothing is noted then.
    """

    def __init__(
        self, blobs: Blobs, emit: Callable[[FileChanged], object], events: Iterable[Event] = ()
    ) -> None:
        self._blobs = blobs
        self._emit = emit
        self._changes: list[FileChanged] = []
        for event in events:
            self._apply(event)

    def __len__(self) -> int:
        """How many changes can be taken back."""
        return len(self._changes)

    def record(self, path: str, before: bytes | None, after: bytes | None, cause: str) -> None:
        """Note that the call `cause` made `after` of `before`; None where the file is not there.

        `path` is relative to the session's folder, links resolved. The same bytes are no change.
        Raises StorageError.
        """
        if before == after:
            return
        change = FileChanged(path=path, cause=cause, before=self._keep(before), after=self._keep(after))
        self._emit(change)
        self._apply(change)

    def undo(self, files: Files) -> Undone:
        """Take the newest change back that was not taken back yet, if the file is as that change left it.

        Raises UndoError that names the file, and StorageError.
        """
        if not self._changes:
            raise UndoError("no change of a file in this session is left to undo", "nothing has to be done")
        change = self._changes[-1]
        before, after = self._content(change, change.before), self._content(change, change.after)
        try:
            files.restore(change.path, before, instead_of=after)
        except ToolFailure as failure:
            if _present(files, change.path) != (before is not None, before):  # else it is so already
                raise UndoError(failure.error.detail, failure.error.hint) from None
        undone = FileChanged(path=change.path, cause=UNDO, before=change.after, after=change.before)
        self._emit(undone)
        self._apply(undone)
        return Undone(change.path, before is None, len(self._changes))

    def _apply(self, event: Event) -> None:
        if not isinstance(event, FileChanged):
            return
        if event.cause != UNDO:
            self._changes.append(event)
        elif self._changes:
            self._changes.pop()

    def _keep(self, data: bytes | None) -> str | None:
        return None if data is None else self._blobs.put(data)

    def _content(self, change: FileChanged, block: str | None) -> bytes | None:
        if block is None:
            return None
        try:
            return self._blobs.get(block)
        except KeyError:
            raise UndoError(
                f"the change of {change.path} cannot be undone: its content was not kept",
                "restore it from version control or a backup",
            ) from None


def in_loop(emit: Callable[[FileChanged], object]) -> Callable[[FileChanged], object]:
    """`emit` for threads: it is called by the loop that runs now, in order."""
    loop = asyncio.get_running_loop()

    def told(change: FileChanged) -> None:
        with suppress(LimnosError):
            emit(change)

    def hand_over(change: FileChanged) -> None:
        loop.call_soon_threadsafe(told, change)

    return hand_over


def _present(files: Files, path: str) -> tuple[bool, bytes | None]:
    """Whether the file is there, and its content; neither when it cannot be read."""
    try:
        return True, files.read(path)
    except ToolFailure as failure:
        return failure.error.reason != "not_found", None
