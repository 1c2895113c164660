"""What a change of a file looks like: a unified diff whose cost is bounded."""

from itertools import takewhile

from limnos import lazy
from limnos.sdk.texts import lines_of

CONTEXT = 3
# More than this is shown as its beginning, its end, and how much stands between.
MAX_LINES, LAST_LINES = 2_000, 200
MAX_LINE = 2_000
# Looking for what stayed is quadratic and worse: 4,000 lines of a hundred kinds take 0.1 s, 100,000 hours.
MAX_COMPARED = 4_000


def unified(path: str, before: bytes, after: bytes) -> str:
    """A unified diff. Of a very long one the middle is left out, and a line says how much."""
    old, new = lines_of(before.decode("utf-8", "replace")), lines_of(after.decode("utf-8", "replace"))
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    middle = max(len(old), len(new)) - first - last
    if middle <= MAX_COMPARED:
        # what is the same at both ends is left to three lines: it takes no part in the search
        cut, rest = max(first - CONTEXT, 0), max(last - CONTEXT, 0)
        lines = list(
            lazy.difflib.unified_diff(old[cut : len(old) - rest], new[cut : len(new) - rest], n=CONTEXT)
        )
        body = [_moved(line, cut) if line.startswith("@@") else line for line in lines[2:]]
    else:
        body = _replaced(old, new, first, last)
    heads = [f"--- {path}\n", f"+++ {path}\n"] if body else []
    return "".join(map(_whole, [*heads, *_bounded(body)]))


def _bounded(lines: list[str]) -> list[str]:
    if len(lines) <= MAX_LINES:
        return lines
    hidden = len(lines) - MAX_LINES
    return [
        *lines[: MAX_LINES - LAST_LINES],
        f"[... {hidden} more lines of this change ...]",
        *lines[-LAST_LINES:],
    ]


def _whole(line: str) -> str:
    line = line.removesuffix("\n")
    if len(line) > MAX_LINE:
        half = MAX_LINE // 2
        line = f"{line[:half]}[... {len(line) - MAX_LINE} characters ...]{line[-half:]}"
    return f"{line}\n"


def _same(one: list[str], other: list[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _moved(head: str, lines: int) -> str:
    """A hunk's head for a text that began `lines` lines earlier."""
    _, old, new, end = head.split(" ", 3)
    return f"@@ {_later(old, lines)} {_later(new, lines)} {end}"


def _later(span: str, lines: int) -> str:
    start, comma, count = span[1:].partition(",")
    return f"{span[0]}{int(start) + lines}{comma}{count}"


def _replaced(old: list[str], new: list[str], first: int, last: int) -> list[str]:
    """One hunk that takes the old lines out and puts the new ones in."""
    begin = max(first - CONTEXT, 0)
    gone, come = old[first : len(old) - last], new[first : len(new) - last]
    before, behind = old[begin:first], old[len(old) - last :][:CONTEXT]
    around = len(before) + len(behind)
    head = f"@@ -{begin + 1},{len(gone) + around} +{begin + 1},{len(come) + around} @@\n"
    return [
        head,
        *(f" {line}" for line in before),
        *(f"-{line}" for line in gone),
        *(f"+{line}" for line in come),
        *(f" {line}" for line in behind),
    ]
