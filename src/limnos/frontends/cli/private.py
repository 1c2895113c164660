"""Words of a command line that may be a key, typed where none belongs: no error repeats them."""

import re
from collections.abc import Sequence

HIDDEN = "(not shown: it may be a key)"
# How the keys of known services begin, and else a long word of letters and digits.
_BEGINNINGS = ("sk-", "gsk_", "xai-", "hf_", "AIza", "AKIA", "ghp_", "gho_", "github_pat_", "xox", "eyJ")
_LONG = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_+/=-]{20,}")


def may_be_key(word: str) -> bool:
    """Whether a word looks like a key, with hyphens before it or not."""
    bare = word.lstrip("-")
    return bare.startswith(_BEGINNINGS) or _LONG.fullmatch(bare) is not None


def without_keys(text: str, words: Sequence[str]) -> str:
    """`text` with a note in the place of each word, or part between `.` and `=`, that looks like a key."""
    parts = {part for word in words for part in (word, *re.split("[.=]", word)) if may_be_key(part)}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text
