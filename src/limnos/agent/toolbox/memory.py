"""The tools that look under the waterline: they search, quote, and bring steps of this session back."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from limnos.context.sources import Hit, Sources
from limnos.kernel.events import StepsRecalled
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure
from limnos.sdk.schema import object_schema

MEMORY = "memory"  # the group of these tools
MOST = 25
USUAL = 8
MOST_RECALLED = 8  # units at once: the next prune may not move them
PREVIEW = 320  # characters of a hit
QUERY_CHARACTERS = 4_000
UNTRUSTED = "memory:untrusted"


class Asked(NamedTuple):
    """What a search is for. `when` is a day, a month or a span `from..to`, empty for any time.

    `kind` is said, step or fact, `sort` relevance or recent; `session` true looks in this session only.
    """

    text: str
    k: int = USUAL
    when: str = ""
    kind: str = ""
    sort: str = "relevance"
    session: bool = False


class Found(NamedTuple):
    """What a search found, best first. `missing` are exact tokens that stand nowhere in memory.

    `by_meaning` false: only words were compared, since no embedder was there.
    """

    hits: Sequence[Hit]
    missing: Sequence[str] = ()
    by_meaning: bool = True


class Quote(NamedTuple):
    """Units of other sessions as one bounded text, and whether all of it may be trusted."""

    text: str
    trusted: bool


class Remembered(NamedTuple):
    """What memory gives an agent: sources for its engine, tools for its model."""

    sources: Sources
    tools: Sequence[Tool]

    def without_tools(self) -> "Remembered":
        """For a model whose prompt may not change: it relies on what memory puts beside its inputs."""
        return Remembered(self.sources._replace(recallable=False), ())


class Lookup(Protocol):
    """The memory as one session sees it. Nothing here moves anything."""

    async def search(self, asked: Asked) -> Found:
        """Raises errors.StorageError, and ValueError for a `when` that is no time."""
        ...

    async def standing(self, units: Sequence[str]) -> Sequence[str]:
        """Those of these ids that have left the window of this session."""
        ...

    async def quote(self, units: Sequence[str], characters: int) -> Quote:
        """Units of other agents and sessions. Raises KeyError with the first id that is not there."""
        ...


_TEXT = {"type": "string", "minLength": 1, "description": "what to look for: words, a path, a code"}
_K = {"type": "integer", "minimum": 1, "maximum": MOST, "description": f"how many, at most {MOST}"}
_SORT = {
    "type": "string",
    "enum": ["relevance", "recent"],
    "description": "recent for questions about now, the latest, the last time",
}
_WHEN = {"type": "string", "description": "2026-03-14, 2026-03, or 2026-03-01..2026-03-14"}
_KIND = {
    "type": "string",
    "enum": ["said", "step"],
    "description": "what a person said, or steps of the agent",
}


def memory_tools(lookup: Lookup, emit: Callable[[StepsRecalled], object], quoted: int) -> list[Tool]:
    """The tools of one session. `quoted` characters of other sessions are shown at most."""
    return [cold_query_tool(lookup), cold_recall_tool(lookup, emit, quoted), memory_search_tool(lookup)]


def cold_query_tool(lookup: Lookup) -> Tool:
    """cold_query: what has left the window of this session."""

    async def query(arguments: Arguments, context: ToolContext) -> Output:
        return await _searched(lookup, _asked(arguments, session=True))

    return Tool(
        "cold_query",
        "Look up what has left the window of this session: earlier steps and messages. Shows ids and "
        "beginnings and moves nothing; cold_recall brings a step back whole.",
        object_schema(["text"], text=_TEXT, k=_K, when=_WHEN, kind=_KIND, sort=_SORT),
        query,
        parallel_safe=True,
        private=True,
        no_memory=True,
        plugin=MEMORY,
    )


def memory_search_tool(lookup: Lookup) -> Tool:
    """memory_search: everything that is remembered."""

    async def search(arguments: Arguments, context: ToolContext) -> Output:
        return await _searched(lookup, _asked(arguments, session=False))

    return Tool(
        "memory_search",
        "Search all that is remembered, of this session and of earlier ones. Shows ids and beginnings and "
        "moves nothing; cold_recall shows one whole.",
        object_schema(["text"], text=_TEXT, k=_K, when=_WHEN, kind=_KIND, sort=_SORT),
        search,
        parallel_safe=True,
        private=True,
        no_memory=True,
        plugin=MEMORY,
    )


def cold_recall_tool(lookup: Lookup, emit: Callable[[StepsRecalled], object], quoted: int) -> Tool:
    """cold_recall: steps come back whole, those of other sessions as a quotation."""

    async def recall(arguments: Arguments, context: ToolContext) -> Output:
        wanted = list(dict.fromkeys(map(_unit, arguments["ids"])))
        back = await lookup.standing([unit for unit in wanted if unit.startswith("#")])
        foreign = [unit for unit in wanted if unit not in back]
        try:
            quote = await lookup.quote(foreign, quoted) if foreign else Quote("", trusted=True)
        except KeyError as error:
            what = f"nothing under the waterline is called {error.args[0]}"
            fix = "what stands in the window is not recalled; cold_query and memory_search list ids"
            raise ToolFailure("not_found", what, fix) from None
        if back:
            emit(StepsRecalled(units=list(back), call=context.call))
        return _recalled(back, quote)

    ids = {
        "type": "array",
        "minItems": 1,
        "maxItems": MOST_RECALLED,
        "items": {"type": "string", "maxLength": 80},
        "description": "ids as cold_query and memory_search show them, such as #31",
    }
    return Tool(
        "cold_recall",
        "Bring steps of this session back into the window, whole and at their place in time, until the turn "
        "ends. Steps of other sessions are quoted.",
        object_schema(["ids"], ids=ids),
        recall,
        private=True,
        no_memory=True,
        plugin=MEMORY,
    )


async def _searched(lookup: Lookup, asked: Asked) -> Output:
    try:
        found = await lookup.search(asked)
    except ValueError as error:
        fix = "write 2026-03-14 or 2026-03-01..2026-03-14"
        raise ToolFailure("invalid_arguments", f"when: {error}", fix) from None
    lines = [f"no record of {token}: it stands nowhere in memory" for token in found.missing]
    if not found.by_meaning:
        lines.append("(only words were compared: what finds by meaning is not ready)")
    if not found.hits:
        where = "under the waterline of this session" if asked.session else "in memory"
        lines.append(f"nothing {where} fits; that does not mean that it never was: try other words")
    for hit in found.hits:
        lines += [_headed(hit), _indented(hit.text[:PREVIEW])]
    trusted = all(hit.trust == "trusted" for hit in found.hits)
    summary = f"{len(found.hits)} found, nothing moved"
    return Output("\n".join(lines), summary, origin="kernel" if trusted else UNTRUSTED)


def _headed(hit: Hit) -> str:
    """The id of a hit, its time, and why it came."""
    marks = [hit.kind, hit.why, "" if hit.certain else "uncertain"]
    marks.append("" if hit.trust == "trusted" else "untrusted")
    return f"{hit.unit}  {hit.time[:16].replace('T', ' ')}  {'  '.join(filter(None, marks))}"


def _recalled(back: Sequence[str], quote: Quote) -> Output:
    lines: list[str] = []
    if back:
        lines.append(f"back in the window until this turn ends, at their place in time: {', '.join(back)}")
    if quote.text:
        lines.append(quote.text)
    summary = f"{len(back)} back in the window" if back else "quoted"
    return Output(
        "\n".join(lines), summary, origin="kernel" if quote.trusted else UNTRUSTED, changed=bool(back)
    )


def _asked(arguments: Arguments, *, session: bool) -> Asked:
    return Asked(
        str(arguments["text"])[:QUERY_CHARACTERS],
        int(arguments.get("k") or USUAL),
        str(arguments.get("when") or ""),
        str(arguments.get("kind") or ""),
        str(arguments.get("sort") or "relevance"),
        session,
    )


def _unit(text: str) -> str:
    """`31` and `#31` are the same step; `s7k2m4#31` is one of another session."""
    text = text.strip()
    return f"#{text}" if text.isdecimal() else text


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
