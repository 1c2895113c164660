"""Questions to memory: a ranked list of copies. Nothing moves by being found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from limnos import lazy
from limnos.kernel.seams import Clock
from limnos.kernel.units import Said, Step
from limnos.memory.contents import unpacked
from limnos.memory.hits import Answer, Hit, Quotation, Scored
from limnos.memory.index import KINDS, Index, seconds_of
from limnos.memory.mending import MemoryDatabase
from limnos.memory.projection import seq_of
from limnos.memory.states import seqs_of
from limnos.memory.texts import Cleaning, preview, text_of_unit
from limnos.retrieval import ranking
from limnos.retrieval.queries import Query, ask
from limnos.store.sql import Connection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[lazy.numpy.bool_]
    Floats = NDArray[lazy.numpy.float32]

PREVIEW_CHARS = 600
QUOTATION_CHARS = 4000
MOST = 100
# What is handed to a turn unasked must be better than the best of a store that has nothing to say: an exact
# token, most of the words, or a likeness that unrelated texts do not reach once the mean is taken out.
GOOD_WORDS, GOOD_DENSE = 0.6, 0.4
CERTAIN_WORDS = 0.8
LEAST_WORDS = 2
_MARGIN = 8  # hits that may turn out to stand in the window, or twice in the store
_COUNT_EVERY = 100  # units that were found, after which that is written down
_SHOWN = ("exact", "lexical", "dense", "neighbour", "scene")


class Question(NamedTuple):
    """What is looked for, and from where: `session` is the one that asks, empty for a person.

    `since` and `until` bound the time (ISO 8601), `kind` is said, step or fact. With `scope` cold nothing is
    found that stands in the window of the session that asks; nothing of the ids in `without` in any case.
    `only`: nothing of other sessions is found.
    """

    text: str
    k: int = 5
    session: str = ""
    since: str = ""
    until: str = ""
    kind: str = ""
    scope: Literal["cold", "all"] = "cold"
    sort: Literal["relevance", "recent"] = "relevance"
    without: Collection[str] = ()
    only: bool = False


class Search:
    """Blocking; the vector of a question comes from elsewhere."""

    def __init__(self, database: MemoryDatabase, index: Index, cleaning: Cleaning, clock: Clock) -> None:
        self._clock = clock
        self._database = database
        self._index = index
        self._cleaning = cleaning
        self._used: dict[int, int] = {}
        self._newest: tuple[str, Query] = ("", Query())

    def answer(
        self, question: Question, vector: Floats | None, note: str = "", *, wants_missing: bool = True
    ) -> Answer:
        """The best units for a question. Raises StorageError."""
        k, index = max(0, min(question.k, MOST)), self._index
        query = self._asked(question.text, vector)
        with index.lock:
            index.refresh()
            missing = index.ranker.unknown(query.exact) if wants_missing else ()
            found: list[ranking.Hit] = []
            if query.words or query.exact or vector is not None:
                among = self._among(question)
                found = index.ranker.rank(query._replace(among=among, sort=question.sort), k + _MARGIN)
        hits = self._hits(question, query, found)[:k]
        return Answer(hits, missing, note)

    @property
    def is_quick(self) -> bool:
        """Whether an answer takes a few milliseconds, less than to wait for a thread. Raises StorageError."""
        return self._index.is_quick

    def warm(self) -> None:
        """Load what is searched with. Raises StorageError."""
        with self._index.lock:
            self._index.refresh()

    def keep(self) -> None:
        """Store what was read of the units for the next process. Raises StorageError."""
        with self._index.lock:
            self._index.keep()
        if self._used:
            self._database.write(self._counted())

    def recollect(self, question: Question, vector: Floats | None) -> Sequence[Hit]:
        """What is good enough to be put beside an input unasked. Raises StorageError."""
        query = ask(question.text)
        if not query.exact and len(set(query.words)) < LEAST_WORDS:
            return []  # a greeting, a yes: nothing can be told from it
        hits = self.answer(question._replace(scope="cold"), vector, wants_missing=False).hits
        said = question.text.split()
        return [hit for hit in hits if (hit.certain or "good" in hit.terms) and hit.text.split() != said]

    def scores(
        self, query: str, session: str, ids: Sequence[str], vector: Floats | None
    ) -> Mapping[str, Scored]:
        """How well units of a session fit `query`, the best 1. One without words is left out."""
        index, asked = self._index, self._asked(query, vector)
        with index.lock:
            index.refresh()
            docs = index.docs_of(session, seqs_of(ids))
            seqs = index.facts.place[docs].tolist()
            parts = index.shares(asked, docs)
        totals = [sum(column[at] for column in parts.values()) for at in range(len(seqs))]
        highest = max(totals, default=0.0)
        if highest <= 0:
            return {}
        return {
            f"#{seq}": Scored(
                max(0.0, totals[at] / highest), {name: column[at] / highest for name, column in parts.items()}
            )
            for at, seq in enumerate(seqs)
        }

    def quotation(self, unit: str, most: int = QUOTATION_CHARS) -> Quotation | None:
        """A bounded copy of a unit `<session>#<seq>`; None when it is not there. Raises StorageError."""
        session = unit.rpartition("#")[0]
        found = self._database.read(lambda c: _row_of(c, session, seq_of(unit)))
        if found is None:
            return None
        time, content, origin, trust = found
        text, cut = preview(shown_text(unpacked(content), self._cleaning), (), most)
        return Quotation(unit, time, text, origin, trust, cut)

    def _asked(self, text: str, vector: Floats | None) -> Query:
        """The query of a text, which is asked for several times in a turn."""
        known, query = self._newest
        if known != text:
            query = ask(text)
            self._newest = text, query
        return query._replace(vector=vector)

    def _among(self, question: Question) -> Bools | None:
        np, facts = lazy.numpy, self._index.facts
        among = np.ones(facts.limit, np.bool_)
        if question.kind:
            among &= facts.speaker[: facts.limit] == (
                KINDS.index(question.kind) if question.kind in KINDS else len(KINDS)
            )
        if question.since:
            among &= facts.time[: facts.limit] >= seconds_of(question.since)
        if question.until:
            among &= facts.time[: facts.limit] <= seconds_of(question.until)
        if question.only:
            number = self._index.sessions.get(question.session, -1)
            among &= facts.session[: facts.limit] == number
        by_session: dict[str, list[int]] = {}
        for one in question.without:
            session, _, _ = one.rpartition("#")
            by_session.setdefault(session or question.session, []).append(seq_of(one))
        for session, seqs in by_session.items():
            among[self._index.docs_of(session, seqs)] = False
        return among

    def _hits(self, question: Question, query: Query, found: Sequence[ranking.Hit]) -> list[Hit]:
        """Rows of what was found, without what stands in the window, and the same text of a fork once."""
        rows = self._database.read(lambda connection: _rows(connection, [hit.doc for hit in found]))
        hits: list[Hit] = []
        seen: set[str] = set()
        for hit in found:
            if len(hits) >= question.k:
                break
            row = rows.get(hit.doc)
            if row is None or row["digest"] in seen:
                continue
            if question.scope == "cold" and row["holder"] == "window" and row["session"] == question.session:
                continue
            seen.add(row["digest"])
            hits.append(self._hit(question, query, hit, row))
            self._used[hit.doc] = self._used.get(hit.doc, 0) + 1
        if len(self._used) >= _COUNT_EVERY:
            self._database.hand_over(self._counted())
        return hits

    def _hit(self, question: Question, query: Query, hit: ranking.Hit, row: Mapping[str, Any]) -> Hit:
        words = (*hit.exact, *hit.words)
        text, _ = preview(shown_text(unpacked(row["content"]), self._cleaning), words, PREVIEW_CHARS)
        share = len(hit.words) / len(query.words) if query.words else 0.0
        terms = dict(hit.parts)
        if hit.exact or share >= GOOD_WORDS or hit.parts.get("dense", 0.0) >= GOOD_DENSE:
            terms["good"] = 1.0
        local = row["session"] == question.session
        return Hit(
            f"#{row['seq']}" if local else f"{row['session']}#{row['seq']}",
            row["time"],
            row["kind"],
            text,
            hit.score,
            terms,
            why(hit),
            row["origin"],
            row["trust"],
            bool(hit.exact) or share >= CERTAIN_WORDS,
        )

    def _counted(self) -> Callable[[Connection], None]:
        """What writes down how often units were found since the last time."""
        used, self._used, now = self._used, {}, self._clock.now()

        def run(connection: Connection) -> None:
            connection.executemany(
                "UPDATE units SET accesses = accesses + ?, last_access = ? WHERE id = ?",
                [(times, now, unit) for unit, times in used.items()],
            )

        return run


def why(hit: ranking.Hit) -> str:
    """What a unit was found by: `[exact] [dense] matched: parser, 4.2.1`."""
    tags = " ".join(f"[{name}]" for name in _SHOWN if hit.parts.get(name, 0.0) > 0)
    matched = ", ".join(dict.fromkeys((*hit.exact, *hit.words)))
    return f"{tags} matched: {matched}" if matched else tags


def shown_text(unit: Said | Step, cleaning: Cleaning) -> str:
    """A unit as a person reads it."""
    return text_of_unit(unit, cleaning).words


def _row_of(connection: Connection, session: str, seq: int) -> tuple[Any, ...] | None:
    return connection.execute(
        "SELECT time, content, units.origin, units.trust FROM units JOIN sessions ON number = session"
        " WHERE sessions.id = ? AND seq = ?",
        (session, seq),
    ).fetchone()


_COLUMNS = ("unit", "session", "seq", "kind", "time", "holder", "origin", "trust", "digest", "content")


def _rows(connection: Connection, docs: Sequence[int]) -> dict[int, dict[str, Any]]:
    marks = ", ".join("?" * len(docs))
    found = connection.execute(
        "SELECT units.id, sessions.id, seq, kind, time, holder, origin, trust, digest, content FROM units"
        f" JOIN sessions ON number = session WHERE units.id IN ({marks})",
        docs,
    )
    return {row[0]: dict(zip(_COLUMNS, row, strict=True)) for row in found}
