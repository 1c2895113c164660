"""How the embedded model is told a result: what it is bad at, counting and comparing, is done for it."""

import re

from limnos.providers.table_facts import table_facts

_PART = re.compile(r"\A\[lines (\d+) to \d+ of \d+\]\n")
_NTH = r"(?:\d+(?:st|nd|rd|th)?|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|final)"
_NTH_EAST_ASIAN = r"第[\d一二三四五六七八九十]+行|最后[\d一二两三四五六七八九十]*行"
_ASKS_FOR_LINES = re.compile(rf"\b{_NTH}(?: \w+)? lines?\b|\blines? \d|{_NTH_EAST_ASIAN}", re.IGNORECASE)


def result_of(tool: str, text: str, request: str, room: int) -> str:
    """The result of `tool`, of `text` at most about `room` characters.

    A table is followed by what can be computed from it; lines are numbered where `request` asks for one by
    its number.
    """
    facts = table_facts(text) if tool == "read_file" else ""
    if tool == "read_file" and _ASKS_FOR_LINES.search(request):
        text = _numbered(text)
    told = cut(text, room)
    more = f"\n({facts})" if facts else ""
    return f"Result of {tool or 'a tool'}:\n{told}{more}"


def _numbered(text: str) -> str:
    part = _PART.match(text)
    head, start = (part[0], int(part[1])) if part else ("", 1)
    lines = text[len(head) :].removesuffix("\n").split("\n")
    return head + "\n".join(f"{number}: {line}" for number, line in enumerate(lines, start))


def cut(text: str, room: int) -> str:
    """At most about `room` characters of `text`: head and tail, and a line that says what is missing."""
    if len(text) <= room:
        return text
    head, tail = text[: room * 2 // 3], text[-(room // 3) :]
    return f"{head}\n[... {len(text) - len(head) - len(tail)} characters left out ...]\n{tail}"
