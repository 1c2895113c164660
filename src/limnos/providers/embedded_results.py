"""How the embedded model is told a result: what it is bad at, counting and comparing, is done for it."""

import re
from itertools import accumulate

from limnos.providers.table_facts import CHINESE, ENGLISH, table_facts

FACT_CHARACTERS = 300

# What is not the whole file: a part of it, one that was cut, one without lines.
_NO_WHOLE_FILE = re.compile(
    r"\A\[lines \d+ to \d+ of \d+\]\n|^\[\.\.\. \d+ (?:of \d+ )?characters left out"
    r"|\A.* is empty: it has no lines\.\Z",
    re.MULTILINE,
)
_NUMBERS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "two": 2, "three": 3, "four": 4, "five": 5,
    "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_CHINESE_NUMBER = r"(\d{1,4}|[一二两三四五六七八九十])"
_FROM_THE_END = re.compile(
    r"\blast but\b|\b(?:second|third|fourth|fifth|next)[ -](?:to[ -](?:the[ -])?)?last\b"
    r"|\bfrom the (?:end|last)\b|\blast \d+(?:st|nd|rd|th)\b|倒数第",
    re.IGNORECASE,
)
_LAST = re.compile(
    rf"\blast(?: (\d{{1,2}}|two|three|four|five))? lines?\b|(?:最后|倒数){_CHINESE_NUMBER}?行", re.IGNORECASE
)
_NTH = re.compile(
    r"(?<![-\w])(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth) line\b"
    rf"|\b(\d{{1,4}})(?:st|nd|rd|th) line\b|\bline (\d{{1,4}})\b(?![.,]\d)|第{_CHINESE_NUMBER}行",
    re.IGNORECASE,
)


def result_of(tool: str, text: str, request: str, room: int, *, chinese: bool, whole: bool = True) -> str:
    """The result of `tool`, at most about `room` characters.

    What a file is asked for by number, a line or the figures of a table, follows its text; not where that
    is an error or a part only (`whole` is False).
    """
    facts: list[str] = []
    if tool == "read_file" and whole and not _NO_WHOLE_FILE.search(text):
        facts = _within(_facts(text, request, chinese=chinese), room // 4)
    shown = cut(text, room - sum(map(len, facts)))
    if facts:
        shown = shown.removesuffix("\n")
    return "\n".join((f"Result of {tool or 'a tool'}:", shown, *facts))


def _facts(text: str, request: str, *, chinese: bool) -> list[str]:
    line = "第 {} 行：{}" if chinese else "line {}: {}"
    asked = [line.format(number, content) for number, content in _asked_lines(text, request).items()]
    facts = [*asked, *table_facts(text, CHINESE if chinese else ENGLISH)]
    return [f"({fact})" for fact in facts if len(fact) <= FACT_CHARACTERS]


def _within(facts: list[str], room: int) -> list[str]:
    """The first of `facts` that fit into `room` characters."""
    sizes = accumulate(len(fact) + 1 for fact in facts)
    return [fact for fact, size in zip(facts, sizes, strict=True) if size <= room]


def _asked_lines(text: str, request: str) -> dict[int, str]:
    """The lines of `text` that `request` asks for by their number, from 1."""
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if _FROM_THE_END.search(request):
        return {}
    if found := _LAST.search(request):
        wanted = range(max(1, len(lines) + 1 - _number(found)), len(lines) + 1)
    else:
        wanted = map(_number, _NTH.finditer(request))
    return {number: lines[number - 1] for number in wanted if 1 <= number <= len(lines)}


def _number(found: re.Match[str]) -> int:
    """What the one group that took part says; 1 when none did."""
    said = next(filter(None, found.groups()), "1").lower()
    return _NUMBERS.get(said) or int(said)


def cut(text: str, room: int) -> str:
    """At most about `room` characters of `text`: head and tail, and a line that says what is missing."""
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 3], text[-(room // 3) :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"
