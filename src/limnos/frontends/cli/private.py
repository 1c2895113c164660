"""Words of a command line that may be a key, typed where none belongs: no error repeats them.

A key is known by how those of its service begin, or else by its disorder: take the words and the numbers
out of a name or a path and little is left; take them out of a random key and much of it still stands there.
"""

import re
from collections.abc import Sequence

from limnos.kernel.errors import UsageError
from limnos.sdk import secret_shapes as shapes
from limnos.sdk.expression import Expression

HIDDEN = "(not shown: it may be a key)"
_PIECE = Expression(r"[A-Za-z0-9_+-]+")  # so a key is found behind `Bearer `, `key:`, a quote or a slash
_KEY = Expression(r"-*(?:sk-|eyJ|github_pat_)")  # no name begins so
_SERVICE = Expression(f"-*(?:{shapes.BEGINNING})")
_AFTER_DOT = Expression(r"AQ\.[A-Za-z0-9_-]{8,}")  # the one beginning with a dot, which parts others
_SHORT = 8  # parts below that say little: `30B` and `gpt4` look as random as a key
_LONG = 16


def may_be_key(text: str) -> bool:
    """Whether a piece of `text` looks like a key."""
    return bool(_keys(text))


def without_keys(text: str, words: Sequence[str]) -> str:
    """`text` with a note in the place of each piece of `words` that looks like a key."""
    for key in sorted({key for word in words for key in _keys(word)}, key=len, reverse=True):
        text = text.replace(key, HIDDEN)
    return text


def refuse_key(place: str, text: str) -> None:
    """Refuse a model's name that may be a key: it would be stored, shown and sent. Raises UsageError."""
    if may_be_key(text):
        fix = "limnos secrets set NAME for a key, and here the name of a model"
        raise UsageError(f"{place} looks like a key, not like a model", fix)


def _keys(text: str) -> list[str]:
    return [*_AFTER_DOT.findall(text), *filter(_is_key, _PIECE.findall(text))]


def _is_key(piece: str) -> bool:
    if _KEY.match(piece):
        return True
    begun = _SERVICE.match(piece)
    parts = [part for part in re.split("[-_+]", piece[begun.end() if begun else 0 :]) if len(part) >= _SHORT]
    if begun and any(re.search("[A-Z0-9]", part) for part in parts):
        return True
    kept = shapes.disorder(parts)
    mixed = any(map(str.isdigit, "".join(parts))) and any(map(str.isalpha, kept))
    return mixed and sum(map(len, parts)) >= _LONG and len(kept) >= shapes.LEAST_DISORDER
