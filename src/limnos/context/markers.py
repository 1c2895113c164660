"""The markers' data: spans of what has sunk, brought up to date at every prune."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from limnos.context.marker_text import still_sunk, within
from limnos.kernel.units import Recalled, Said, Step, Unit
from limnos.retrieval.stop_words import STOP_WORDS

TOPICS = 6
MOST_SPANS = 6
LONGEST_TOPIC = 60
READ_CHARACTERS = 4_000
RUNAWAYS = 4
_WORD = re.compile(r"[^\W\d_]{4,24}")
_Span = dict[str, Any]


def spans_after(
    spans: Sequence[Mapping[str, Any]], units: Sequence[Unit], sunk: Collection[str], big: Mapping[str, str]
) -> list[_Span]:
    """The spans when those of `units` with an id in `sunk` leave the window, neighbours merged.

    `big` names what is too large to come back, by id. Copies out of memory are dropped, not sunk.
    """
    after: list[_Span] = []
    current: _Span | None = None
    waiting = [_settled(span, units) for span in spans]
    for unit in units:
        if isinstance(unit, Recalled):
            continue
        while waiting and waiting[0]["first"] < unit.seq:
            current = _merge(current, waiting.pop(0)) if current else waiting.pop(0)
        if unit.id in sunk:
            own = _span_of(unit, big.get(unit.id))
            if current and current["first"] <= unit.seq <= current["last"]:
                current["inside"] = [seq for seq in current["inside"] if seq != unit.seq]
            current = _merge(current, own) if current else own
        elif current and unit.seq > current["last"]:
            after.append(current)
            current = None
    for span in waiting:
        current = _merge(current, span) if current else span
    return [span for span in (*after, *((current,) if current else ())) if span["steps"] or span["said"]]


def bounded(spans: Sequence[_Span], units: Sequence[Unit], most: int) -> list[_Span]:
    """`spans` with the oldest merged until there are at most `most`; `units` are those that still stand."""
    left = list(spans)
    while len(left) > max(most, 1):
        first, second = left[0], left[1]
        merged = _merge(first, second)
        between = [unit.seq for unit in within(merged, units)]
        merged["inside"] = sorted({*merged["inside"], *between})
        left[:2] = [merged]
    return left


def briefer(span: _Span) -> bool:
    """Leave out the least useful of what `span` tells; False when nothing more can go."""
    for name, least in (("topics", 3), ("tools", 3), ("topics", 0), ("tools", 0)):
        if len(span.get(name, ())) > least:
            span[name] = list(span[name])[:least]
            return True
    if span.get("brief") != "very":
        span["brief"] = "very" if span.get("brief") else "yes"
        return True
    return bool(span.pop("runaways", None))


def _settled(span: Mapping[str, Any], units: Sequence[Unit]) -> _Span:
    """`span` without what was recalled out of it, which counts as standing inside of it from now on."""
    steps, said = still_sunk(span, units)
    inside = sorted(unit.seq for unit in within(span, units))
    return {**span, "steps": steps, "said": said, "inside": inside}


def _span_of(unit: Unit, big: str | None) -> _Span:
    span: _Span = {"first": unit.seq, "last": unit.seq, "from": unit.time, "to": unit.time, "inside": []}
    is_step = isinstance(unit, Step)
    span |= {"steps": int(is_step), "said": int(not is_step)}
    span["tools"] = list(dict.fromkeys(unit.tools))[-TOPICS:] if isinstance(unit, Step) else []
    span["topics"] = list(_topics(unit))
    if big:
        span["runaways"] = [big]
    return span


def _merge(one: _Span, other: _Span) -> _Span:
    """One span for two, of which `other` is the newer; newest topics first."""
    merged: _Span = {
        "first": min(one["first"], other["first"]),
        "last": max(one["last"], other["last"]),
        "from": min(one["from"], other["from"]),
        "to": max(one["to"], other["to"]),
        "steps": one["steps"] + other["steps"],
        "said": one["said"] + other["said"],
        "inside": sorted({*one["inside"], *other["inside"]}),
    }
    for name, most in (("tools", TOPICS), ("topics", TOPICS)):
        merged[name] = list(dict.fromkeys((*other.get(name, ()), *one.get(name, ()))))[:most]
    if big := [*one.get("runaways", ()), *other.get("runaways", ())][-RUNAWAYS:]:
        merged["runaways"] = big
    return merged


def _topics(unit: Unit) -> Iterator[str]:
    """Short argument values of a step; of a message the words that it uses most."""
    if isinstance(unit, Said):
        yield from _words(unit.text)
    elif isinstance(unit, Step):
        values = (value for call in unit.calls for value in (call.arguments or {}).values())
        yield from list(_short(values))[:TOPICS]


def _short(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str) and 2 < len(value) <= LONGEST_TOPIC and value.isprintable():
            yield value


def _words(text: str) -> list[str]:
    words = Counter(word for word in _WORD.findall(text[:READ_CHARACTERS].lower()) if word not in STOP_WORDS)
    return [word for word, _ in words.most_common(2)]
