"""What of a unit is looked for, compared and shown. What memory itself gave is none of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from limnos.kernel.messages import ToolCall, result_text, text_of
from limnos.kernel.units import Said, Step
from limnos.retrieval.embedder import TEXT_CHARS

# Tools whose calls and results are copies out of memory, or settings of it.
NO_MEMORY = ("cold_*", "memory_*", "graph_query")
DENSE_CHARS = TEXT_CHARS  # what an embedder looks at
_ARGUMENT_CHARS = 300
_DEPTH = 6


class Cleaning(NamedTuple):
    """`no_memory` are patterns of tools that leave no trace; `cleaners` make prose of a tool's output."""

    no_memory: Sequence[str] = NO_MEMORY
    cleaners: Mapping[str, Callable[[str], str]] = {}

    def remembers(self, tool: str) -> bool:
        """Whether the calls of a tool are looked for at all."""
        return not any(fnmatchcase(tool, pattern) for pattern in self.no_memory)


class UnitText(NamedTuple):
    """`words` is what is searched, `dense` what is embedded; either is empty when there is nothing."""

    words: str
    dense: str


def text_of_unit(unit: Said | Step, cleaning: Cleaning) -> UnitText:
    """What `unit` is found by."""
    if isinstance(unit, Said):
        return UnitText(unit.text, unit.text[:DENSE_CHARS])
    said = text_of(unit.parts)
    words, dense = [said], [said[:DENSE_CHARS]]
    for call in unit.calls:
        if not cleaning.remembers(call.name):
            continue
        asked = asked_text(call)
        words.append(asked)
        dense.append(asked[:_ARGUMENT_CHARS])
        result = unit.results.get(call.id)
        if result is None:
            continue
        text = result_text(result)
        words.append(text)
        if call.name in cleaning.cleaners:
            dense.append(cleaning.cleaners[call.name](text)[:DENSE_CHARS])
    return UnitText(_joined(words), _joined(dense)[: 2 * DENSE_CHARS])


def asked_text(call: ToolCall) -> str:
    """The tool and the values of its arguments, in one line."""
    values = _values(call.arguments) if call.arguments is not None else [call.raw]
    return " ".join([call.name, *values])


def _values(value: Any, depth: int = 0) -> Iterator[str]:
    if depth > _DEPTH:
        return
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():  # type: ignore[reportUnknownVariableType]
                yield from _values(one, depth + 1)
        case list() | tuple():
            for one in value:  # type: ignore[reportUnknownVariableType]
                yield from _values(one, depth + 1)
        case bool() | None:
            return
        case _:
            yield str(value)


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if text.strip())


def preview(text: str, words: Sequence[str], most: int) -> tuple[str, bool]:
    """At most `most` characters of `text`, around the first of `words`; and whether some is missing."""
    if len(text) <= most:
        return text, False
    low = text.casefold()
    places = [place for word in words if (place := low.find(word.casefold())) >= 0]
    start = max(0, min(min(places, default=0) - most // 4, len(text) - most))
    ends = ("…" if start else "", "…" if start + most < len(text) else "")
    return f"{ends[0]}{text[start : start + most - 2]}{ends[1]}", True
