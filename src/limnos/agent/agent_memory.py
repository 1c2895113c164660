"""The memory as one agent of a session sees it: what its engine asks, and what its tools find."""

import asyncio
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from limnos.agent import deferred
from limnos.agent.following import Following
from limnos.agent.persona_memory import PersonaMemory
from limnos.agent.toolbox.memory import Asked, Found, Quote, Remembered, memory_tools
from limnos.context.sources import Hit, Identifier, Scored, Sources
from limnos.kernel.conversation import title_of
from limnos.kernel.errors import StorageError
from limnos.kernel.stream import EventStream
from limnos.kernel.units import Unit
from limnos.kernel.window_view import ColdUnit

if TYPE_CHECKING:
    from limnos.memory.memory import Memory
    from limnos.memory.mending import MemoryDatabase

CATCH_UP_SECONDS = 0.5  # that a turn waits for what other processes have done; the rest goes on behind it
LAST_YEAR = 9999
_TIME = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


class AgentMemory:
    """Implements the protocols of `context.sources`, `toolbox.memory.Lookup` and `moves.Cold`.

    `recall`: something of memory is put beside inputs unasked.
    """

    def __init__(self, persona: PersonaMemory, following: Following, stream: EventStream) -> None:
        self._persona = persona
        self._following = following
        self._stream = stream
        self._catching_up: asyncio.Task[int] | None = None

    def remembered(self, quoted: int, *, recall: bool) -> Remembered:
        """The sources and tools of this agent; `quoted` characters of other sessions are shown at most."""
        first = not self._stream.agent
        sources = Sources(
            relevance=self,
            recollection=self if first and recall else None,
            identifiers=self if first else None,
            recallable=True,
        )
        return Remembered(sources, memory_tools(self, self._stream.emit, quoted))

    async def scores(self, query: str, units: Sequence[Unit]) -> Sequence[Scored]:
        """See `context.sources.Relevance`."""
        return await self._followed().relevance(self._stream.session).scores(query, units)

    async def recollect(self, query: str, *, k: int, without: Collection[str]) -> Sequence[Hit]:
        """See `context.sources.Recollection`. What nobody wrote yet costs nothing."""
        if not self._stream.conversation.window.sunk and not self._persona.has_others(self._stream.session):
            return []
        await self._level_with_others()
        memory = self._followed()
        return await memory.recollection(self._stream.session).recollect(query, k=k, without=without)

    def identifiers(self, limit: int) -> Sequence[Identifier]:
        """See `context.sources.Identifiers`; none when the memory fails."""
        memory = self._followed()
        with suppress(StorageError):
            memory.flush(self._stream.session)
            return memory.identifiers(self._stream.session).identifiers(limit)
        return []

    async def search(self, asked: Asked) -> Found:
        """See `toolbox.memory.Lookup`."""
        since, until = _span(asked.when)
        await self._level_with_others()
        question = deferred.search.Question(
            asked.text,
            asked.k,
            self._stream.session,
            since,
            until,
            asked.kind,
            sort="recent" if asked.sort == "recent" else "relevance",
            without=[unit.id for unit in self._stream.conversation.units],
            only=asked.session,
        )
        answer = await self._followed().search(question)
        return Found(answer.hits, answer.missing, not answer.note)

    async def standing(self, units: Sequence[str]) -> Sequence[str]:
        """See `toolbox.memory.Lookup`."""
        await self._following.level()
        inside = {unit.id for unit in self._stream.conversation.units}
        known = await asyncio.to_thread(
            deferred.cold.sunk_ids, self._database, self._stream.session, self._stream.agent, units
        )
        return [unit for unit in units if unit in known and unit not in inside]

    async def quote(self, units: Sequence[str], characters: int) -> Quote:
        """See `toolbox.memory.Lookup`."""
        memory, texts, trusted = self._followed(), list[str](), True
        for unit in units:
            if unit in {one.id for one in self._stream.conversation.units}:
                raise KeyError(unit)
            name = f"{self._stream.session}{unit}" if unit.startswith("#") else unit
            found = await asyncio.to_thread(memory.searcher.quotation, name, characters // len(units))
            if found is None:
                raise KeyError(unit)
            trusted = trusted and found.trust == "trusted"
            mark = "" if found.trust == "trusted" else f", untrusted: {found.origin}"
            more = "\n[there is more of it]" if found.cut else ""
            texts.append(
                f"[{unit}, a copy, {found.time[:16].replace('T', ' ')} UTC{mark}]\n{found.text}{more}"
            )
        return Quote("\n\n".join(texts), trusted)

    async def listed(self, text: str, limit: int) -> Sequence[ColdUnit]:
        """See `moves.Cold`."""
        if text:
            found = await self.search(Asked(text, limit, session=True))
            return [ColdUnit(hit.unit, hit.time, hit.kind, hit.why, title_of(hit.text)) for hit in found.hits]
        await self._following.level()
        sunk = await asyncio.to_thread(
            deferred.cold.newest_sunk,
            self._database,
            self._stream.session,
            self._stream.agent,
            limit,
            deferred.cold.Cleaning(),
        )
        return [ColdUnit(one.unit, one.time, one.kind, "", title_of(one.text)) for one in sunk]

    @property
    def _database(self) -> "MemoryDatabase":
        return self._persona.get().database

    def _followed(self) -> "Memory":
        """The memory, which follows this session."""
        self._following.attach()
        return self._persona.get()

    async def _level_with_others(self) -> None:
        """Take in what other processes have written, for a bounded time."""
        if self._catching_up is None or self._catching_up.done():
            memory = self._persona.get()
            self._catching_up = asyncio.ensure_future(asyncio.to_thread(memory.catch_up))
        with suppress(TimeoutError, StorageError):
            await asyncio.wait_for(asyncio.shield(self._catching_up), CATCH_UP_SECONDS)


def _span(when: str) -> tuple[str, str]:
    """The first and last instant of a day, a month, a year or `from..to`. Raises ValueError."""
    if not when.strip():
        return "", ""
    first, dots, last = (part.strip() for part in when.partition(".."))
    begin = _instants(first)[0] if first else ""
    end = _instants(last)[1] if last else "" if dots else _instants(first)[1]
    return begin, end


def _instants(text: str) -> tuple[str, str]:
    """The first and the last instant of a day, a month or a year."""
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no day, month or year")
    year, month, day = (int(part) if part else 0 for part in found.groups())
    if not 1 <= year < LAST_YEAR:
        raise ValueError(f"{text!r} is in no year that can be asked for")
    begin = datetime(year, month or 1, day or 1, tzinfo=UTC)
    end = begin + timedelta(days=1) if day else begin.replace(day=28) + timedelta(days=4)
    if not day:
        end = end.replace(day=1) if month else datetime(year + 1, 1, 1, tzinfo=UTC)
    return begin.isoformat(), (end - timedelta(milliseconds=1)).isoformat()
