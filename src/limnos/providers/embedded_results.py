"""How the embedded model is told a result: what it is bad at, counting and comparing, is done for it."""

import re

from limnos.providers.table_facts import CHINESE, ENGLISH, table_facts

_PART = re.compile(r"\A\[lines \d+ to \d+ of \d+\]\n")
_NUMBERS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
    "two": 2, "three": 3, "four": 4, "five": 5,
    "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10,
}  # fmt: skip
_CHINESE_NUMBER = r"(\d{1,4}|[一二两三四五六七八九十])"
_FROM_THE_END = re.compile(
    r"\blast but\b|\b(?:second|third|fourth|fifth|next)[ -](?:to[ -](?:the[ -])?)?last\b"
    r"|\bfrom the (?:end|last)\b|倒数第",
    re.IGNORECASE,
)
_LAST = re.compile(
    rf"\blast(?: (\d{{1,2}}|two|three|four|five))? lines?\b|(?:最后|倒数){_CHINESE_NUMBER}?行", re.IGNORECASE
)
_NTH = re.compile(
    r"\b(first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth) line\b"
    rf"|\b(\d{{1,4}})(?:st|nd|rd|th) line\b|\bline (\d{{1,4}})\b|第{_CHINESE_NUMBER}行",
    re.IGNORECASE,
)


def result_of(tool: str, text: str, request: str, room: int, *, chinese: bool) -> str:
    """The result of `tool`, of `text` at most about `room` characters.

    What a file is asked for by number, a line or the figures of a table, follows it.
    """
    facts: list[str] = []
    if tool == "read_file" and not _PART.match(text):
        line = "第 {} 行：{}" if chinese else "line {}: {}"
        facts += [line.format(number, content) for number, content in _asked_lines(text, request).items()]
        facts += table_facts(text, CHINESE if chinese else ENGLISH)
    shown = cut(text, room)
    if facts:
        shown = shown.removesuffix("\n")
    return "\n".join((f"Result of {tool or 'a tool'}:", shown, *(f"({fact})" for fact in facts)))


def _asked_lines(text: str, request: str) -> dict[int, str]:
    """The lines of `text` that `request` asks for by their number, from 1."""
    lines = text.removesuffix("\n").split("\n")
    if _FROM_THE_END.search(request):
        return {}
    if found := _LAST.search(request):
        wanted = range(max(1, len(lines) + 1 - _number(found)), len(lines) + 1)
    elif found := _NTH.search(request):
        wanted = range(_number(found), _number(found) + 1)
    else:
        return {}
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
