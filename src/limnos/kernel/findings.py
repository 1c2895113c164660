"""What a call does, as the gate sees it: parts that rules are compared with, and what no rule covers."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from limnos.kernel.messages import ToolError


class Part(NamedTuple):
    """One thing that a call does; for a command tool one simple command.

    `words` are what rules are compared with, the program first. `also` are other spellings of the same
    (the program without its folder, `git push` for `git -C x push`): deny and ask rules are compared with
    them too, allow rules are not. `program` is the resolved file of the program, empty when there is none;
    a rule that names one covers no other. `reason` says what makes this part more than its program is for:
    then only a rule without `*`, which a person wrote for exactly these words, allows it.
    A call that is no command has `subject`, a path for example, in the place of words.
    """

    words: tuple[str, ...] = ()
    also: tuple[tuple[str, ...], ...] = ()
    program: str = ""
    reason: str = ""
    subject: str = ""


class Findings(NamedTuple):
    """All that a call does. It passes by rules only when every part is covered and `reasons` is empty.

    `reasons` ask in every mode but yolo, whatever the rules say (a substitution, a variable, a construct
    that is not known). `always` asks in yolo too, and nothing can be stored then (there is no sandbox).
    `denied` is a hard denial: no mode, rule or person lifts it. `rests_on` names what all this was read from,
    where that can change: it goes into an approval's hash, and to the tool when it runs.
    """

    parts: tuple[Part, ...]
    reasons: tuple[str, ...] = ()
    always: str = ""
    denied: ToolError | None = None
    rests_on: str = ""


def covers(pattern: str, words: Sequence[str]) -> bool:
    """Whether a rule's `match` covers `words` joined by single blanks; `*` stands for any text.

    A first word that holds a blank is another program: no pattern matches across it.
    """
    if not words:
        return False
    head, blank, _ = pattern.partition(" ")
    if " " in words[0] and "*" not in head:
        return False
    if " " in words[0] and blank:
        return False
    return matches(pattern, " ".join(words))


def covers_any(pattern: str, spellings: Iterable[Sequence[str]]) -> bool:
    """Whether `pattern` covers one of `spellings`."""
    return any(covers(pattern, words) for words in spellings)


def matches(pattern: str, text: str) -> bool:
    """Whether `pattern` is `text`, each `*` in it standing for any text; in linear time for each `*`."""
    first, *middle = pattern.split("*")
    if not middle:
        return pattern == text
    last = middle.pop()
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True
