"""What a message names of the working folder, so that no model has to guess which words are files."""

import os
import re
from collections import deque
from collections.abc import Iterator
from itertools import islice

from limnos.sdk.files import SKIPPED, shown

MOST = 5
# Enough for what people write about; looking through 2,000 names takes some 5 ms.
LOOKED_AT = 2_000
DEPTH = 4
READ_CHARACTERS = 4_000
SHORTEST = 2
_PLAIN_WORD = re.compile("[a-z]+")


def mentioned(text: str, folder: str) -> list[str]:
    """Up to `MOST` paths below `folder` that `text` names, relative to it; those of folders end in a slash.

    Only names are looked at, no file is opened. A path of several parts may be named by its last one, unless
    that is a plain word: in "list the files" nobody means a folder `tests/files`.
    """
    text = text[-READ_CHARACTERS:].casefold()
    found: list[str] = []
    names = sorted(islice(_names(folder), LOOKED_AT), key=lambda name: (-len(name), name))
    for name in names:
        plain = name.rstrip("/")
        whole = _stands_in(plain, text)
        last = os.path.basename(plain)
        if whole or (_PLAIN_WORD.fullmatch(last) is None and _stands_in(last, text)):
            found.append(shown(name))
        if whole:  # what is named whole does not name its parts
            text = text.replace(plain.casefold(), " ")
        if len(found) == MOST:
            break
    return found


def _names(folder: str) -> Iterator[str]:
    """Relative names, the nearest first."""
    waiting = deque([("", 0)])
    while waiting:
        below, depth = waiting.popleft()
        for entry in _listed(os.path.join(folder, below)):
            path = os.path.join(below, entry.name)
            if not entry.is_dir(follow_symlinks=False):
                yield path
                continue
            yield path + "/"
            if depth < DEPTH:
                waiting.append((path, depth + 1))


def _listed(folder: str) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in islice(entries, LOOKED_AT) if entry.name not in SKIPPED]
    except OSError:
        return []


def _stands_in(name: str, text: str) -> bool:
    """Whether `name` stands in `text`, not as a part of a longer Latin word."""
    if len(name) < SHORTEST or name.casefold() not in text:
        return False
    return re.search(rf"(?<![a-z0-9_]){re.escape(name.casefold())}(?![a-z0-9_])", text) is not None
