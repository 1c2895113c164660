"""Which documents answer a question: words, vectors and where a document stands, fused into one score.

Every term is one pass over arrays, so that the cost grows with the store as a vector product does. The
weights were tuned on conversations (`benchmarks/recall.py`), one set for all; around them the results are
flat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from limnos import lazy
from limnos.retrieval.facts import Facts
from limnos.retrieval.lexicon import Lexicon, best
from limnos.retrieval.queries import Query
from limnos.retrieval.vectors import Vectors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[lazy.numpy.bool_]
    Docs = NDArray[lazy.numpy.int32]
    Floats = NDArray[lazy.numpy.float32]
    Places = NDArray[lazy.numpy.intp]

_Kind = TypeVar("_Kind", bound="lazy.numpy.generic")

TERMS = ("exact", "lexical", "dense", "neighbour", "session", "speaker", "recency", "scene", "prior")

LEXICAL = 0.4
# Shares of the best score one and two places away, before or after in the same session.
NEIGHBOURS = (0.4, 0.2)
SESSION = 0.5
SPEAKER = 0.1
SCENE = 0.3
PRIOR = 0.5
# A tier: more than all other terms together can be.
EXACT = 10.0
EXACT_MORE = 0.2
# An exact token names something only while few documents have it: one in a hundred, or a handful.
RARE_SHARE, RARE_LEAST = 0.01, 3
# What answers at least this well, compared with the best, is put in order of time when that is asked for.
RECENT_SHARE = 0.6
_RECENT_OF = 5
# How many documents are looked at closely, and how many for each that is wanted.
_POOL, _POOL_OF = 500, 10


class Hit(NamedTuple):
    """One document that was found. `score` is the sum of `parts`, which name each term's share; `words` are
    the words of the question it has, `exact` the exact tokens.
    """

    doc: int
    score: float
    parts: Mapping[str, float]
    words: tuple[str, ...]
    exact: tuple[str, ...]

    @property
    def uncertain(self) -> bool:
        """Whether nothing but likeness speaks for it."""
        return not self.exact


class Ranker:
    """Ranks the documents of one store. `vectors` may hold some of them, or none."""

    def __init__(self, lexicon: Lexicon, vectors: Vectors | None, facts: Facts) -> None:
        self.lexicon = lexicon
        self.vectors = vectors
        self.facts = facts

    def rank(self, query: Query, k: int) -> list[Hit]:
        """The best `k` documents, best first.

        A document that holds a rare exact token of the question stands above all that hold none. With
        `sort="recent"` those that answer about as well as the best come newest first, and then the others.
        """
        if not self.facts.count or k <= 0:
            return []
        holders = {} if "exact" in query.without else self._holders(query.exact)
        own = self._own(query)
        pool = self._pool(query, own, holders, k if query.sort == "relevance" else k * _RECENT_OF)
        parts = self._parts(query, own, pool, holders)
        total = sum(parts.values(), start=lazy.numpy.zeros(len(pool), lazy.numpy.float32))
        allowed = self._allowed(query, pool, parts)
        # `best` takes positive scores only; all of them lie well above this
        shifted = lazy.numpy.where(allowed, total + lazy.numpy.float32(100), 0)
        if query.sort == "recent":
            places = best(shifted, k * _RECENT_OF).docs
            places, parts["recency"] = self._by_time(pool, places, parts)
        else:
            places = best(shifted, k).docs
        return self._hits(query, _Chosen(pool, places[:k], parts), holders)

    def unknown(self, exact: Sequence[str]) -> tuple[str, ...]:
        """Those of the exact tokens that no document has: of these there is no record."""
        return tuple(token for token in exact if not len(self.lexicon.holders(token)))

    def _own(self, query: Query) -> dict[str, Floats]:
        """What words and vectors say of every document, (limit,) each."""
        own: dict[str, Floats] = {}
        limit = self.facts.limit
        if query.words and "lexical" not in query.without:
            own["lexical"] = self._lexical(query, limit)
        if query.vector is not None and self.vectors is not None and "dense" not in query.without:
            own["dense"] = self.vectors.scores(query.vector, limit, missing=0)
        return own

    def _lexical(self, query: Query, limit: int) -> Floats:
        np = lazy.numpy
        scores = _long(self.lexicon.scores(query.words), limit)
        highest = float(scores.max(initial=0))
        return scores * np.float32(LEXICAL / highest) if highest > 0 else scores

    def _pool(self, query: Query, own: Mapping[str, Floats], holders: Mapping[str, Docs], k: int) -> Places:
        """The documents worth a closer look, in ascending order: the best by themselves and what is around
        them, and all that hold an exact token. Of a small store, all.
        """
        np = lazy.numpy
        facts, limit = self.facts, self.facts.limit
        size = max(_POOL, _POOL_OF * k)
        if limit <= size:
            return np.flatnonzero(facts.known[:limit])
        key = sum(own.values(), start=facts.floor[:limit])
        if query.affinity is not None:
            key = key + np.float32(SCENE) * _long(query.affinity, limit)
        if query.among is not None:
            key = np.where(_long(query.among, limit), key, np.float32(-np.inf))
        pool = np.argpartition(key, limit - size)[limit - size :]
        pieces = [pool, *(docs.astype(np.intp) for docs in holders.values())]
        left = right = pool
        for _ in NEIGHBOURS if "neighbour" not in query.without else ():
            left, right = facts.before.take(left), facts.after.take(right)
            pieces += [left, right]
        pool = np.sort(np.concatenate(pieces))
        first = np.append(True, pool[1:] != pool[:-1])  # measured: four times as fast as `unique`
        return pool[first & facts.known.take(pool)]

    def _parts(
        self, query: Query, own: Mapping[str, Floats], pool: Places, holders: Mapping[str, Docs]
    ) -> dict[str, Floats]:
        """The share of every term that takes part, by place in the pool."""
        np = lazy.numpy
        facts = self.facts
        parts = {name: scores.take(pool) for name, scores in own.items()}
        alone = sum(own.values(), start=np.zeros(facts.limit, np.float32))
        if "neighbour" not in query.without:
            parts["neighbour"] = self._neighbour(alone, pool)
        if "session" not in query.without:
            parts["session"] = self._session(alone, pool)
        if query.speakers and "speaker" not in query.without:
            said = np.isin(facts.speaker.take(pool), list(query.speakers))
            parts["speaker"] = said * np.float32(SPEAKER)
        if query.affinity is not None and "scene" not in query.without:
            fits = _long(query.affinity, facts.limit).take(pool)
            parts["scene"] = np.float32(SCENE) * np.clip(fits, 0, 1)
        parts["prior"] = np.float32(PRIOR) * facts.prior.take(pool)
        if holders:
            parts["exact"] = self._exact(holders, pool)
        return parts

    def _neighbour(self, alone: Floats, pool: Places) -> Floats:
        """The better of both sides at each distance; 0 beyond the ends of a session."""
        np = lazy.numpy
        total = np.zeros(len(pool), np.float32)
        left = right = pool
        for weight in NEIGHBOURS:
            before, after = self.facts.before.take(left), self.facts.after.take(right)
            total += np.float32(weight) * np.maximum(
                np.where(before == left, np.float32(0), alone.take(before)),
                np.where(after == right, np.float32(0), alone.take(after)),
            )
            left, right = before, after
        return total

    def _session(self, alone: Floats, pool: Places) -> Floats:
        """The best score of the session: its best document is in the pool when any of it is."""
        np = lazy.numpy
        session = self.facts.session.take(pool)
        highest = np.zeros(self.facts.sessions, np.float32)
        np.maximum.at(highest, session, alone.take(pool))
        return np.float32(SESSION) * highest.take(session)

    def _exact(self, holders: Mapping[str, Docs], pool: Places) -> Floats:
        np = lazy.numpy
        held = np.zeros(len(pool), np.float32)
        for docs in holders.values():
            held[np.searchsorted(pool, docs)] += 1
        return np.where(held > 0, np.float32(EXACT) + held * np.float32(EXACT_MORE / len(holders)), 0)

    def _holders(self, exact: Sequence[str]) -> dict[str, Docs]:
        """The documents of each exact token that is rare."""
        most = max(RARE_LEAST, int(RARE_SHARE * self.lexicon.count))
        found = {token: self.lexicon.holders(token) for token in exact}
        known, limit = self.facts.known, self.facts.limit
        rare = {token: docs[docs < limit] for token, docs in found.items() if 0 < len(docs) <= most}
        return {token: docs[known[docs]] for token, docs in rare.items()}

    def _allowed(self, query: Query, pool: Places, parts: Mapping[str, Floats]) -> Bools:
        """What may be an answer: everything where vectors speak, otherwise what words lead to."""
        np = lazy.numpy
        allowed = np.ones(len(pool), np.bool_)
        if "dense" not in parts:
            allowed[:] = False
            for name in ("exact", "lexical", "neighbour"):
                if name in parts:
                    allowed |= parts[name] > 0
        if query.among is not None:
            allowed &= _long(query.among, self.facts.limit).take(pool)
        return allowed

    def _by_time(self, pool: Places, places: Docs, parts: Mapping[str, Floats]) -> tuple[Docs, Floats]:
        """The places with what answers well newest first, and the recency (0 to 1) by place in the pool."""
        np = lazy.numpy
        recency = np.zeros(len(pool), np.float32)
        if not len(places):
            return places, recency
        zero = np.zeros(len(pool), np.float32)
        alone = sum((parts.get(name, zero) for name in ("lexical", "dense", "exact")), start=zero)[places]
        well = alone >= RECENT_SHARE * alone.max()
        good, rest = places[well], places[~well]
        order = good[np.lexsort((-pool[good], -self.facts.time[pool[good]]))]
        recency[order] = np.linspace(1, 0, len(order), endpoint=False, dtype=np.float32)
        return np.concatenate([order, rest]), recency

    def _hits(self, query: Query, chosen: _Chosen, holders: Mapping[str, Docs]) -> list[Hit]:
        docs = chosen.pool[chosen.places]
        matched = self.lexicon.matches(query.words, docs)
        held = {token: set(of.tolist()) for token, of in holders.items()}
        columns = {name: chosen.parts[name][chosen.places].tolist() for name in TERMS if name in chosen.parts}
        hits: list[Hit] = []
        for row, doc in enumerate(docs.tolist()):
            shares = {name: column[row] for name, column in columns.items() if column[row]}
            hits.append(
                Hit(
                    doc,
                    sum(shares.values()),
                    shares,
                    tuple(word for term, word in query.words.items() if matched[term][row]),
                    tuple(token for token, of in held.items() if doc in of),
                )
            )
        return hits


class _Chosen(NamedTuple):
    """The places in a pool that were chosen, best first, with the parts by place in the pool."""

    pool: Places
    places: Docs
    parts: Mapping[str, Floats]


def _long(array: NDArray[_Kind], limit: int) -> NDArray[_Kind]:
    """`array` cut or filled with zeros to `limit` places."""
    np = lazy.numpy
    if len(array) >= limit:
        return array[:limit]
    return np.concatenate([array, np.zeros(limit - len(array), array.dtype)])
