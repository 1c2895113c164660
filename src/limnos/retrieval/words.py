"""What a text is found by: its words, as stems, and its exact tokens, which name one thing only.

Indexing and asking go through the same two functions. Both take any string – lone surrogates, NUL, megabytes
– and do a bounded amount of work.
"""

import re
import threading
import unicodedata
from collections.abc import Callable
from typing import Protocol, TypeAlias, cast

from limnos import lazy
from limnos.retrieval import exact
from limnos.retrieval.stop_words import STOP_WORDS

# Of longer texts the beginning counts: the rest of a long output is found by its exact tokens.
TEXT_CHARS = 200_000
TERMS = 20_000
_WORD_CHARS = 40
_CACHED = 100_000
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_CJK}]{{1,200}}|[^\W_{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_Cut: TypeAlias = Callable[[str], list[str]]


class EnglishStemmer(Protocol):
    """What is used of the stemmer, which has no types of its own."""

    def stemWord(self, word: str, /) -> str:  # noqa: N802
        """The stem of one lower-case word."""
        ...


class _Local(threading.local):
    """A stemmer is not to be shared by threads."""

    def __init__(self) -> None:
        make = cast("Callable[[str], EnglishStemmer]", lazy.Stemmer.Stemmer)  # pyright: ignore[reportUnknownMemberType]
        self.stemmer: EnglishStemmer = make("english")


class _Cache:
    """The terms of words seen before, and of chunks seen before; emptied when full."""

    def __init__(self, make: Callable[[str], tuple[str, ...]]) -> None:
        self._make = make
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, piece: str) -> tuple[str, ...]:
        """What `piece` is made into."""
        found = self._known.get(piece)
        if found is None:
            if len(self._known) >= _CACHED:
                self._known.clear()
            found = self._known[piece] = self._make(piece)
        return found


def terms(text: str) -> list[str]:
    """The words of `text` in order, with repeats: stems of English, words of Chinese, no stop words.

    A word in camelCase counts whole and by its parts. Of a longer text the first 200,000 characters count,
    and at most 20,000 terms.
    """
    found: list[str] = []
    of = _WORDS.of
    for word in _WORD.findall(_whole(text[:TEXT_CHARS])):
        found += of(word)
    return found[:TERMS]


def exact_tokens(text: str) -> list[str]:
    """The exact tokens of `text`, each once, in order of their first place.

    Versions, addresses, paths (and the names at their ends), identifiers with an underscore, a dot, digits or
    humps, codes, flags, e-mail addresses and numbers of at least 4 digits; years, dates and times are none.
    Of a longer text the first 2,000,000 characters count, and at most 20,000 tokens.
    """
    found: dict[str, None] = {}
    of = _EXACT.of
    for chunk in exact.CHUNK.findall(exact.spelled(text[: exact.TEXT_CHARS])):
        for token in of(chunk):
            found[token] = None
        if len(found) >= exact.TOKENS:
            break
    return list(found)[: exact.TOKENS]


def _whole(text: str) -> str:
    """`text` as UTF-8 can hold it, full-width and other compatible forms unified."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))


def _terms_of(word: str) -> tuple[str, ...]:
    if _IS_CJK.match(word):
        cut: _Cut = lazy.rjieba.cut_for_search
        return tuple(piece for piece in cut(word) if piece not in STOP_WORDS)
    pieces = [word]
    if not word.islower() and not word.isupper() and len(word) <= _WORD_CHARS:
        humps = _HUMP.split(word)
        pieces += humps if len(humps) > 1 else []
    return tuple(term for piece in pieces if (term := _stem(piece)))


def _stem(word: str) -> str:
    low = word.casefold()[:_WORD_CHARS]
    return "" if low in STOP_WORDS else _LOCAL.get().stemmer.stemWord(low)


class _Lazily:
    """The stemmers, made at the first word."""

    def __init__(self) -> None:
        self._local: _Local | None = None

    def get(self) -> _Local:
        """This thread's stemmer."""
        if self._local is None:
            self._local = _Local()
        return self._local


_LOCAL = _Lazily()
_WORDS = _Cache(_terms_of)
_EXACT = _Cache(exact.tokens_of)
