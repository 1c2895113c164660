"""Words of a command line that may be a key, typed where none belongs: no error repeats them.

A key is known by how those of its service begin, or else by its disorder: take the words and the numbers
out of a name or a path and little is left; take them out of a random key and much of it still stands there.
"""

import re
from collections.abc import Sequence

from limnos.kernel.errors import UsageError

HIDDEN = "(not shown: it may be a key)"
_PIECE = re.compile(r"[A-Za-z0-9_+-]+")  # so a key is found behind `Bearer `, `key:`, a quote or a slash
_KEY = re.compile(r"-*(sk-|eyJ|github_pat_)")  # no name begins so
_SERVICE = re.compile(
    r"-*(AIza|AKIA|ASIA|csk-|fw_|gh[opsu]_|glpat-|gsk_|hf_|jina_|npm_|ntn_|nvapi-|pplx-|pypi-|r8_|[rs]k_live_"
    r"|tvly-|xai-|xox[abeoprs]-)"
)
_AFTER_DOT = re.compile(r"AQ\.[A-Za-z0-9_-]{8,}")  # the one beginning with a dot, which parts others
_SHORT = 8  # parts below that say little: `30B` and `gpt4` look as random as a key
_LONG = 16
_DISORDER = 4  # characters
_ORDERED = re.compile(r"[A-Z][a-z]{2,}|[a-z]{3,}|[0-9]{3,}|^[A-Z]+[0-9]*$")


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
    kept = "".join(_ORDERED.sub("", part) for part in parts)
    mixed = any(map(str.isdigit, "".join(parts))) and any(map(str.isalpha, kept))
    return mixed and sum(map(len, parts)) >= _LONG and len(kept) >= _DISORDER
