"""How the embedded model is told a result: what it is bad at, counting and comparing, is done for it."""

import re

from limnos.providers.table_facts import CHINESE, ENGLISH, table_facts

_PART = re.compile(r"\A\[lines \d+ to \d+ of \d+\]\n")
_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_DIGITS = "一二三四五六七八九十"
_NUMBER = rf"(\d{{1,4}}|[{_DIGITS}两])"
_NTH = re.compile(
    rf"\b(?:({'|'.join(_WORDS)})|(\d{{1,4}})(?:st|nd|rd|th)) line\b|\bline (\d{{1,4}})\b|第{_NUMBER}行",
    re.IGNORECASE,
)
_LAST = re.compile(
    rf"\blast(?: (\d{{1,2}}|two|three|four|five))? lines?\b|最后{_NUMBER}?行|倒数{_NUMBER}行", re.IGNORECASE
)
_LAST_WORDS = {"two": 2, "three": 3, "four": 4, "five": 5}


def result_of(tool: str, text: str, request: str, room: int, *, chinese: bool) -> str:
    """The result of `tool`, of `text` at most about `room` characters.

    What a file is asked for by number, a line or the figures of a table, follows it.
    """
    facts: list[str] = []
    if tool == "read_file" and not _PART.match(text):
        asked = _asked_lines(text, request)
        line = "第 {} 行：{}" if chinese else "line {}: {}"
        facts = [line.format(number, content) for number, content in asked.items()]
        facts += table_facts(text, CHINESE if chinese else ENGLISH)
    shown = cut(text, room).removesuffix("\n") if facts else cut(text, room)
    return "\n".join((f"Result of {tool or 'a tool'}:", shown, *(f"({fact})" for fact in facts)))


def _asked_lines(text: str, request: str) -> dict[int, str]:
    """The lines of `text` that `request` asks for by their number, from 1."""
    lines = text.removesuffix("\n").split("\n")
    if found := _NTH.search(request):
        number = _number(next(filter(None, found.groups())))
        return {number: lines[number - 1]} if 1 <= number <= len(lines) else {}
    if found := _LAST.search(request):
        count = _number(next(filter(None, found.groups()), "1"))
        start = max(0, len(lines) - count)
        return {place + 1: lines[place] for place in range(start, len(lines))}
    return {}


def _number(said: str) -> int:
    said = said.lower()
    if said.isdecimal():
        return int(said)
    if said in _WORDS:
        return _WORDS.index(said) + 1
    return _LAST_WORDS.get(said) or (2 if said == "两" else _DIGITS.index(said) + 1)


def cut(text: str, room: int) -> str:
    """At most about `room` characters of `text`: head and tail, and a line that says what is missing."""
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 3], text[-(room // 3) :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"
