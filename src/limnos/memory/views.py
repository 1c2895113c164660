"""The memory as the context engine of one session sees it: bounded in time, and never an error."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

from limnos.kernel.errors import LimnosError
from limnos.kernel.units import Recalled, Said, Unit
from limnos.memory.contents import unpacked
from limnos.memory.embedding import Embedding
from limnos.memory.hits import Hit, Identifier, Scored
from limnos.memory.mending import MemoryDatabase
from limnos.memory.search import Question, Search
from limnos.memory.texts import Cleaning, asked_text, text_of_unit
from limnos.retrieval.words import exact_tokens
from limnos.store.sql import Connection

LEXICAL_ONLY = "only words were compared: the embedder was not ready"
VECTOR_SECONDS = 0.5
ALL_SECONDS = 1.0
_SCANNED = 400  # sunk units whose identifiers are looked for
_NOTHING = Scored(0.0, {})


class Recollection:
    """Implements `context.sources.Recollection` for `session`."""

    def __init__(self, session: str, embedding: Embedding, search: Callable[[], Search]) -> None:
        self._session = session
        self._embedding = embedding
        self._search = search

    async def recollect(self, query: str, *, k: int, without: Collection[str]) -> Sequence[Hit]:
        """What of memory is good enough to stand beside an input; nothing when it takes too long."""
        vector = await self._embedding.of_query(query, VECTOR_SECONDS)
        question = Question(query, k, self._session, without=without)
        try:
            search = self._search()
            if search.is_quick:
                return search.recollect(question, vector)
            return await asyncio.wait_for(asyncio.to_thread(search.recollect, question, vector), ALL_SECONDS)
        except (TimeoutError, LimnosError):
            return []


class Relevance:
    """Implements `context.sources.Relevance` for `session`."""

    def __init__(
        self,
        session: str,
        embedding: Embedding,
        search: Callable[[], Search],
        rows: tuple[Callable[[], bool], Callable[[], None]],
    ) -> None:
        """`rows` say whether the rows are level with the log, and bring them there."""
        self._session = session
        self._embedding = embedding
        self._search = search
        self._is_level, self._flush = rows

    async def scores(self, query: str, units: Sequence[Unit]) -> Sequence[Scored]:
        """One score for each of `units`; 0 for all when it takes too long."""
        vector = await self._embedding.of_query(query, VECTOR_SECONDS)
        ids = [unit.id for unit in units if not isinstance(unit, Recalled)]

        def score() -> Mapping[str, Scored]:
            self._flush()
            return self._search().scores(query, self._session, ids, vector)

        found: Mapping[str, Scored] = {}
        with suppress(TimeoutError, LimnosError):
            if self._is_level() and self._search().is_quick:
                found = self._search().scores(query, self._session, ids, vector)
            else:
                found = await asyncio.wait_for(asyncio.to_thread(score), ALL_SECONDS)
        return [found.get(unit.id, _NOTHING) for unit in units]


class SunkIdentifiers:
    """Implements `context.sources.Identifiers` for `session`; looks at its newest 400 sunk units."""

    def __init__(self, database: MemoryDatabase, session: str, cleaning: Cleaning) -> None:
        self._database = database
        self._session = session
        self._cleaning = cleaning

    def identifiers(self, limit: int) -> Sequence[Identifier]:
        """At most `limit`, newest first. Raises StorageError."""
        found: dict[str, Identifier] = {}
        for seq, content, trust in self._database.read(self._sunk):
            unit = unpacked(content)
            if isinstance(unit, Said):
                said = unit.text
            else:
                asked = (asked_text(call) for call in unit.calls if self._cleaning.remembers(call.name))
                said = "\n".join(asked)
            in_said = set(exact_tokens(said))
            for token in exact_tokens(text_of_unit(unit, self._cleaning).words):
                old = found.get(token)
                if old is None:
                    found[token] = Identifier(token, f"#{seq}", token in in_said, trust)
                else:
                    found[token] = old._replace(said=old.said or token in in_said, units=old.units + 1)
        return list(found.values())[: max(0, limit)]

    def _sunk(self, connection: Connection) -> list[tuple[int, str, str]]:
        ask = (
            "SELECT seq, content, trust FROM units WHERE holder <> 'window' AND agent = '' AND session ="
            " (SELECT number FROM sessions WHERE id = ?) ORDER BY seq DESC LIMIT ?"
        )
        rows = connection.execute(ask, (self._session, _SCANNED))
        return [(seq, content, trust) for seq, content, trust in rows]
