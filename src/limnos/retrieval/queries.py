"""A question as the ranker takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from limnos import lazy
from limnos.retrieval import words
from limnos.retrieval.dates import asked_marks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[lazy.numpy.bool_]
    Floats = NDArray[lazy.numpy.float32]

# Of a long input, the rarest of this many words decide.
TERMS = 256
EXACT = 64


class Query(NamedTuple):
    """`words` are the terms asked for, each with the spelling to show; `exact` the exact tokens.

    `vector` (d,) is the embedder's of the question, None without one. `speakers` are those whose words are
    asked for. `affinity` (n,) by document, 0 to 1, is how well the scene fits; `among` (n,) by document says
    what may be found at all; both may be shorter than the store: what is beyond has no affinity, and may not
    be found. `sort` is "recent" where the newest is asked for. `without` names terms to leave out.
    """

    words: Mapping[str, str] = {}
    exact: tuple[str, ...] = ()
    vector: Floats | None = None
    speakers: frozenset[int] = frozenset()
    affinity: Floats | None = None
    among: Bools | None = None
    sort: Literal["relevance", "recent"] = "relevance"
    without: frozenset[str] = frozenset()


def ask(text: str, vector: Floats | None = None, names: Mapping[str, int] | None = None) -> Query:
    """The query of a plain text.

    `names` are speakers by name. One who is named is asked for as a speaker, and the name is no word to look
    for then, unless there is no other: it stands where the person is spoken to. Days that are named are asked
    for by their marks (`dates.day_marks`).
    """
    spelled = words.spellings(text)
    named: dict[str, int] = {}
    for name, speaker in (names or {}).items():
        parts = words.terms(name)
        if parts and all(part in spelled for part in parts):
            named |= dict.fromkeys(parts, speaker)
    kept = {term: word for term, word in spelled.items() if term not in named} or spelled
    days = {mark: mark.removeprefix("@") for mark in asked_marks(text)}
    chosen = days | dict(list(kept.items())[:TERMS])
    return Query(chosen, tuple(words.exact_tokens(text)[:EXACT]), vector, frozenset(named.values()))
