"""What a process has in its memory to search with: words, vectors and places of all units of a persona.

Loaded once, and brought up to the rows that this or another process wrote since.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from limnos import lazy
from limnos.memory.contents import unpacked
from limnos.memory.mending import MemoryDatabase
from limnos.memory.remembering import RememberingLexicon
from limnos.memory.texts import Cleaning, text_of_unit
from limnos.retrieval.facts import Fact, Facts
from limnos.retrieval.queries import Query
from limnos.retrieval.ranking import Ranker
from limnos.retrieval.vectors import Vectors
from limnos.retrieval.words import exact_tokens, terms
from limnos.store.sql import Connection, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Docs = NDArray[lazy.numpy.intp]
    Floats = NDArray[lazy.numpy.float32]

KINDS = ("said", "step", "fact")  # a unit's kind is its speaker
KEEP_EVERY = 512  # units, new to the words, after which these are stored
QUICK_UNITS = 20_000
_QUICK_NEW = 100
_GRAPH_PRIOR = -0.1
_ROWS = 500
_UNIT_FIELDS = "id, session, seq, kind, time, holder, content"


class Space(NamedTuple):
    """The embedder whose vectors are compared."""

    fingerprint: str
    dimensions: int


class Index:
    """Whoever uses what is in it holds `lock`, from `refresh` to the last look."""

    def __init__(self, database: MemoryDatabase, cleaning: Cleaning, space: Space | None) -> None:
        self.lock = threading.Lock()
        self._database = database
        self._cleaning = cleaning
        self.space = space
        self._reset("")

    def _reset(self, epoch: str) -> None:
        self.lexicon = RememberingLexicon()
        self.facts = Facts()
        self.vectors = Vectors(self.space.dimensions, self.space.fingerprint) if self.space else None
        self.ranker = Ranker(self.lexicon, self.vectors, self.facts)
        self.sessions: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self.damaged: list[int] = []
        self._epoch = epoch
        self._stamp = self._vectors_stamp = self._new = 0

    @property
    def is_quick(self) -> bool:
        """Whether a question takes a few milliseconds: little to look at, nothing to load, nobody before it.

        Raises StorageError.
        """
        if not self._epoch or self.facts.count > QUICK_UNITS or self.lock.locked():
            return False
        return self._database.read(self._is_level)

    def _is_level(self, connection: Connection) -> bool:
        ask = "SELECT (SELECT epoch FROM clock) = ?, (SELECT count(*) FROM units WHERE stamp > ?) < ?"
        asked = connection.execute(ask, (self._epoch, self._stamp, _QUICK_NEW))
        return all(asked.fetchall()[0])

    def refresh(self) -> None:
        """Know all that is in the database now. Raises StorageError."""
        self._database.read(self._refresh)
        if self.damaged:
            self._drop_damaged()
        if self._new >= KEEP_EVERY:
            self.keep()

    def keep(self) -> None:
        """Store the words, so that the next process need not read every text again."""
        if self._new:
            self._database.write(self._keep)
            self._new = 0

    def docs_of(self, session: str, seqs: Sequence[int]) -> Docs:
        """The documents of some units of a session; one that is not known is left out."""
        number = self.sessions.get(session, -1)
        found: list[int] = []

        def look(connection: Connection) -> None:
            for start in range(0, len(seqs), _ROWS):
                some = seqs[start : start + _ROWS]
                ask = f"SELECT id FROM units WHERE session = ? AND seq IN ({', '.join('?' * len(some))})"
                found.extend(row[0] for row in connection.execute(ask, (number, *some)))

        if seqs:
            self._database.read(look)
        limit, known = self.facts.limit, self.facts.known
        return lazy.numpy.array([doc for doc in sorted(found) if doc < limit and known[doc]], lazy.numpy.intp)

    def shares(self, query: Query, docs: Docs) -> dict[str, list[float]]:
        """What words, exact tokens and vectors say of `docs`, one number each; costs what these do.

        The best by words has 0.5, a holder of all exact tokens 1; of vectors it is the centred cosine.
        """
        np = lazy.numpy
        lexical = self.lexicon.scores(query.words)[docs]
        parts = {"lexical": (lexical * (0.5 / max(float(lexical.max(initial=0)), 1e-9))).tolist()}
        if query.exact:
            holders = [set(self.lexicon.holders(token).tolist()) for token in query.exact]
            parts["exact"] = [sum(doc in one for one in holders) / len(holders) for doc in docs.tolist()]
        if query.vector is not None and self.vectors is not None and len(docs):
            rows = [self.vectors.row(doc) for doc in docs.tolist()]
            nothing = np.zeros(self.vectors.dimensions, np.float32)
            table = np.stack([query.vector, *(nothing if row is None else row for row in rows)])
            parts["dense"] = _cosines(table, self.vectors.mean, [row is not None for row in rows])
        return parts

    def _refresh(self, connection: Connection) -> None:
        stamp, epoch = connection.execute("SELECT stamp, epoch FROM clock").fetchall()[0]
        if epoch != self._epoch:
            self._reset(epoch)
            self._load_words(connection)
        if stamp == self._stamp and stamp == self._vectors_stamp:
            return
        known = connection.execute("SELECT id, number FROM sessions").fetchall()
        self.sessions = dict(known)
        self.names = {number: session for session, number in known}
        for (unit,) in connection.execute("SELECT unit FROM gone WHERE stamp > ?", (self._stamp,)):
            for part in (self.lexicon, self.facts, self.vectors):
                if part is not None:
                    part.remove(unit)
        ask = f"SELECT {_UNIT_FIELDS} FROM units WHERE stamp > ? ORDER BY id"
        for row in connection.execute(ask, (self._stamp,)):
            self._add(row)
        self._stamp = int(stamp)
        self._load_vectors(connection)
        self._vectors_stamp = int(stamp)

    def _load_words(self, connection: Connection) -> None:
        """Take the words as they were stored, when they are of this database."""
        upto = connection.execute("SELECT stamp FROM words_upto WHERE epoch = ?", (self._epoch,)).fetchone()
        if upto is None:
            return
        data = [
            row[0] for row in connection.execute("SELECT data FROM words WHERE epoch = ?", (self._epoch,))
        ]
        try:
            self.lexicon.load(data)
        except ValueError:
            self._reset(self._epoch)  # every text is read again
            return
        self._stamp = int(upto[0])
        ask = "SELECT id, session, seq, kind, time, holder FROM units WHERE stamp <= ? ORDER BY id"
        for row in connection.execute(ask, (self._stamp,)):
            self._place(row)

    def _add(self, row: Row) -> None:
        *place, content = row
        doc = place[0]
        try:
            text = text_of_unit(unpacked(content), self._cleaning).words
        except ValueError:
            return
        self._new += 1
        if self.vectors is not None:
            self.vectors.remove(doc)  # it is that of the text before
        if not text:
            self.lexicon.remove(doc)
            self.facts.remove(doc)
            return
        self.lexicon.add(doc, terms(text), exact_tokens(text))
        self._place(place)

    def _place(self, row: Sequence[Any]) -> None:
        doc, session, seq, kind, time, holder = row
        if doc in self.lexicon:
            prior = _GRAPH_PRIOR if holder == "graph" else 0.0
            self.facts.add(doc, Fact(session, seq, KINDS.index(kind), seconds_of(time), prior))

    def _load_vectors(self, connection: Connection) -> None:
        if self.vectors is None or self.space is None:
            return
        np, size = lazy.numpy, 2 * self.space.dimensions
        ask = "SELECT unit, row FROM vectors WHERE stamp > ? AND fingerprint = ? AND row <> x'' ORDER BY unit"
        found = connection.execute(ask, (self._vectors_stamp, self.space.fingerprint))
        while some := [row for _, row in zip(range(_ROWS), found, strict=False)]:
            whole = [(unit, data) for unit, data in some if len(data) == size]
            units = [unit for unit, _ in whole]
            table = np.frombuffer(b"".join(data for _, data in whole), np.float16).astype(np.float32)
            table = table.reshape(len(units), self.space.dimensions)
            fine = np.isfinite(table).all(axis=1)
            self.damaged += [unit for unit, data in some if len(data) != size]
            self.damaged += [unit for unit, good in zip(units, fine, strict=True) if not good]
            good = [unit for unit, is_fine in zip(units, fine, strict=True) if is_fine]
            known = [unit in self.lexicon for unit in good]
            self.vectors.add([unit for unit, has in zip(good, known, strict=True) if has], table[fine][known])

    def _drop_damaged(self) -> None:
        """A vector that is no vector is made again."""
        bad, self.damaged = self.damaged, []
        self._database.write(
            lambda connection: connection.executemany(
                "DELETE FROM vectors WHERE unit = ?", [(one,) for one in bad]
            )
        )

    def _keep(self, connection: Connection) -> None:
        epoch = connection.execute("SELECT epoch FROM clock").fetchall()[0][0]
        if epoch != self._epoch:
            return
        known = {row[0] for row in connection.execute("SELECT name FROM words WHERE epoch = ?", (epoch,))}
        fresh = self.lexicon.dump(known)
        stale = known - set(self.lexicon.names)
        connection.executemany("DELETE FROM words WHERE name = ?", [(name,) for name in stale])
        connection.execute("DELETE FROM words WHERE epoch <> ?", (epoch,))
        rows = [(name, epoch, data) for name, data in fresh.items()]
        connection.executemany("INSERT OR REPLACE INTO words VALUES(?, ?, ?)", rows)
        connection.execute("INSERT OR REPLACE INTO words_upto VALUES(1, ?, ?)", (self._stamp, epoch))


def _cosines(table: Floats, mean: Floats, known: list[bool]) -> list[float]:
    """Of the first row with each other one, the mean of the store taken out; 0 for what is not known."""
    np = lazy.numpy
    first = table[0] / max(float(np.linalg.norm(table[0])), 1e-12)
    apart = np.vstack([first[None], table[1:]]) - mean
    apart /= np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-12)
    return [float(one) if has else 0.0 for one, has in zip(apart[1:] @ apart[0], known, strict=True)]


def seconds_of(time: str) -> float:
    """An ISO 8601 time as seconds since 1970; 0 for what is none."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0
