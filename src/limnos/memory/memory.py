"""The memory of a persona: one database behind its sessions, one object a process."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from limnos.kernel.errors import StorageError, UsageError
from limnos.kernel.events import ContextChanged, MemoryRecalled, StepsRecalled
from limnos.kernel.seams import Clock
from limnos.kernel.stream import EventStream
from limnos.kernel.units import Said, Step
from limnos.memory import checks, rows
from limnos.memory.embedding import Embedding
from limnos.memory.feed import Feed
from limnos.memory.following import Follower, file_state, load
from limnos.memory.hits import Answer, Quotation
from limnos.memory.index import Index, Space
from limnos.memory.mending import MemoryDatabase
from limnos.memory.opening import Resumed, opened
from limnos.memory.rows import FileState
from limnos.memory.search import Question, Search
from limnos.memory.shelf import SessionShelf
from limnos.memory.showing import Shown, moves_of, units_of
from limnos.memory.sweeping import Swept, sweep
from limnos.memory.texts import Cleaning
from limnos.memory.views import LEXICAL_ONLY, Recollection, Relevance, SunkIdentifiers
from limnos.retrieval.embedder import Embedder
from limnos.store.sql import Connection

_CLEANING = Cleaning()


class Options(NamedTuple):
    """`embedder` makes vectors, None for words alone; `cleaning` says what of tools is looked for."""

    embedder: Embedder | None = None
    cleaning: Cleaning = _CLEANING


_DEFAULTS = Options()
QUERY_SECONDS = 5.0  # that a tool waits for the embedder
LAG = 4 << 20  # bytes of a log that are still projected when a session ends; more waits for the next catch-up


class Memory:
    """The memory in `folder`, that of a persona. Making one touches no file and loads no library.

    Methods block for as long as the disk takes, but for those that are `async`; all may be called from any
    thread. Of a database that fails each says so with StorageError, but for those of a running session, which
    goes on without it.
    """

    def __init__(self, folder: Path, clock: Clock, options: Options = _DEFAULTS) -> None:
        self.database = MemoryDatabase(folder, clock)
        self._options = options
        self._search: Search | None = None
        self.embedding = Embedding(self.database, options.cleaning, options.embedder)
        self._folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._followers: dict[str, Follower] = {}
        self._shelves: dict[str, SessionShelf] = {}
        self._feeds: dict[str, tuple[Feed, Path]] = {}

    def resume(self, session: str, path: Path) -> Resumed:
        """Open the log of a session: behind the saved place when all fits, else from its start.

        A session of 100,000 steps opens in less than a second. Raises SessionInUseError, and StorageError
        when the log itself cannot be opened.
        """
        return opened(self.database, session, path, self.shelf(session, path))

    def shelf(self, session: str, path: Path) -> SessionShelf:
        """Where the units of a session lie that have left its window."""
        with self._lock:
            if session not in self._shelves:
                self._shelves[session] = SessionShelf(path, lambda ids: load(self.database, session, ids))
            return self._shelves[session]

    def attach(self, stream: EventStream, path: Path) -> None:
        """Follow a session that runs, whose log is `path`; an event costs it a look."""
        session = stream.session
        shelf, follower = self.shelf(session, path), self._follower(session, path)
        self._feeds[session] = (
            Feed(stream, shelf, follower.catch_up, self.database, self.embedding.start),
            path,
        )

    def detach(self, session: str) -> None:
        """Stop following a session; what its log has more than the rows is written, if it is little."""
        feed, path = self._feeds.pop(session, (None, None))
        if feed is None or path is None:
            return
        feed.stop()
        if self._lag(session, path) <= LAG:
            feed.finish()
        with self._lock:
            self._followers.pop(session, None)
            self._shelves.pop(session, None)

    def flush(self, session: str) -> None:
        """Have in the rows what a running session has done up to now."""
        feed, _ = self._feeds.get(session, (None, None))
        if feed is not None:
            feed.finish()

    def catch_up(self) -> int:
        """Bring the rows to all logs of the persona; how many sessions had something new.

        A session that cannot be read is left out. A process that is ended in between goes on where it was.
        """
        return sum(1 for _ in self.catching_up())

    def catching_up(self) -> Iterator[str]:
        """As `catch_up`, one session at a time."""
        known = self.database.read(_files)
        for path in self.logs():
            name, session = self._name(path), session_of(path)
            try:
                if known.get(session) == (name, file_state(path)):
                    continue
                self._follower(session, path).catch_up()
            except StorageError:
                continue
            yield session

    def rebuild(self) -> int:
        """Make the database again from the logs: the same units with the same ids and holders.

        Returns the number of sessions.
        """
        looked_at = self.database.read(_accesses)
        self.database.begin_anew()
        with self._lock:
            followers = list(self._followers.values())
        for follower in followers:
            follower.forget()
        count = self.catch_up()
        self.database.write(lambda connection: _count_again(connection, looked_at))
        return count

    def units(self, session: str, ids: Sequence[str]) -> Sequence[Said | Step]:
        """The units of these ids, whole; one that is not there is left out."""
        return [stored.unit for stored in load(self.database, session, ids)]

    async def search(self, question: Question) -> Answer:
        """Look for what a tool or a person asks; nothing moves. Raises StorageError."""
        vector = await self.embedding.of_query(question.text, QUERY_SECONDS)
        note = "" if vector is not None or self._options.embedder is None else LEXICAL_ONLY
        await asyncio.to_thread(self.flush, question.session)
        answer = await asyncio.to_thread(self.searcher.answer, question, vector, note)
        self.embedding.start()
        return answer

    async def warm(self) -> None:
        """Load what is searched with, so that the first question need not wait; never raises."""
        with suppress(StorageError):
            await asyncio.to_thread(self.searcher.warm)

    def recollection(self, session: str) -> Recollection:
        """What the context engine of `session` asks before a turn."""
        return Recollection(session, self.embedding, lambda: self.searcher)

    def relevance(self, session: str) -> Relevance:
        """How the context engine of `session` weighs the units of its window."""
        rows = (lambda: self._is_level(session), lambda: self.flush(session))
        return Relevance(session, self.embedding, lambda: self.searcher, rows)

    def identifiers(self, session: str) -> SunkIdentifiers:
        """The rare values in what has sunk out of the window of `session`."""
        return SunkIdentifiers(self.database, session, self._options.cleaning)

    def quote(self, unit: str) -> Quotation | None:
        """A bounded copy of the unit `<session>#<seq>`, which stays where it is. Raises StorageError."""
        return self.searcher.quotation(unit)

    @property
    def searcher(self) -> Search:
        """What searches; it is loaded at its first question."""
        with self._lock:
            if self._search is None:
                options = self._options
                space = (
                    Space(options.embedder.fingerprint, options.embedder.dimensions)
                    if options.embedder
                    else None
                )
                index = Index(self.database, options.cleaning, space)
                self._search = Search(self.database, index, options.cleaning, self._clock)
            return self._search

    def show(self, session: str, limit: int = 200) -> list[Shown]:
        """The newest units of a session, in order of time. Raises StorageError."""
        return self.database.read(lambda c: units_of(c, session, self._options.cleaning, limit))

    def explain(self, session: str, turn: int) -> Sequence[ContextChanged | MemoryRecalled | StepsRecalled]:
        """What came into the window of a session in a turn, and what left it, with the reasons.

        Raises StorageError, and UsageError when there is no such session.
        """
        for path in self.logs():
            if session_of(path) == session:
                return moves_of(path, turn)
        raise UsageError(f"there is no session {session!r}", "limnos sessions")

    def gc(self) -> Swept:
        """Remove payloads that nothing names, and rows that belong to nothing. Raises StorageError."""
        embedder = self._options.embedder
        return sweep(self.database, self._folder, self._clock.now(), embedder.fingerprint if embedder else "")

    def verify(self) -> list[checks.Finding]:
        """What is wrong, each with what mends it; nothing when all is well."""
        logs = [(session_of(path), self._name(path), path) for path in self.logs()]
        return checks.verify(self.database, self._folder, logs)

    def logs(self) -> list[Path]:
        """The logs of all sessions, in order of their names."""
        return sorted((self._folder / "sessions").glob("*/*/*.jsonl"), key=lambda path: path.name)

    async def stop(self) -> None:
        """End what runs in the background and close; the embedder stays open, it belongs to who made it."""
        await self.embedding.stop()
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Let go of the database; may be called twice."""
        for session in list(self._feeds):
            self.detach(session)
        if self._search is not None:
            with suppress(StorageError):
                self._search.keep()
        self.database.close()

    def _follower(self, session: str, path: Path) -> Follower:
        with self._lock:
            if session in self._followers:
                return self._followers[session]
            follower = Follower(self.database, session, path, self._name(path))
            if session in self._shelves:  # it runs here
                self._followers[session] = follower
            return follower

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self._folder)) if path.is_relative_to(self._folder) else str(path)

    def _is_level(self, session: str) -> bool:
        feed, _ = self._feeds.get(session, (None, None))
        return feed is None or feed.is_level

    def _lag(self, session: str, path: Path) -> int:
        try:
            known = self.database.read(lambda connection: rows.known(connection, session))
            return file_state(path).size - (known.applied.offset if known else 0)
        except StorageError:
            return LAG + 1


def session_of(path: Path) -> str:
    """The session whose log a file is."""
    return path.stem.rsplit("-", 1)[-1]


def _accesses(connection: Connection) -> list[tuple[int, str, str, int]]:
    """How often units were found: the one thing that no log has."""
    ask = (
        "SELECT accesses, last_access, sessions.id, seq FROM units JOIN sessions ON number = session"
        " WHERE accesses > 0"
    )
    return [(count, last, session, seq) for count, last, session, seq in connection.execute(ask)]


def _count_again(connection: Connection, looked_at: Sequence[tuple[int, str, str, int]]) -> None:
    connection.executemany(
        "UPDATE units SET accesses = ?, last_access = ? WHERE session ="
        " (SELECT number FROM sessions WHERE id = ?) AND seq = ?",
        looked_at,
    )


def _files(connection: Connection) -> dict[str, tuple[str, FileState]]:
    found = connection.execute("SELECT id, path, device, inode, size, modified FROM sessions")
    return {session: (path, FileState(*file)) for session, path, *file in found}
