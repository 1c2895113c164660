"""Vectors from a server that speaks OpenAI's `/embeddings`, as most do."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from limnos import lazy
from limnos.egress.client import Client, Timeouts
from limnos.egress.errors import EgressError
from limnos.retrieval.embedder import EmbedderUnavailableError, cleaned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[lazy.numpy.float32]

_BATCH = 32
# 32 vectors of 4,096 numbers of some 20 characters, and what stands around them.
_ANSWER_BYTES = 8 << 20
_LARGEST = 1e18


class Service(NamedTuple):
    """Where to ask. `base_url` ends before `/embeddings`; `key` gives the key to send each time, "" for none.

    `dimensions` is what the model gives; an answer of another length is refused. Some models want a word
    before each text: `query_prefix` and `passage_prefix`.
    """

    base_url: str
    model: str
    dimensions: int
    key: Callable[[], str] = str
    query_prefix: str = ""
    passage_prefix: str = ""
    timeout_s: float = 30.0


class Remote:
    """An `Embedder` over one server. Opens connections at the first question and keeps them until `close`."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client = Client(Timeouts(connect_s=10, read_s=service.timeout_s))
        self._closed = False

    @property
    def fingerprint(self) -> str:
        """See `Embedder`. The server's address is part of it: two servers may mean two models by a name."""
        service = self._service
        marks = f"{service.query_prefix}|{service.passage_prefix}"
        return f"remote/{service.base_url.rstrip('/')}/{service.model}/{service.dimensions}/{marks}"

    @property
    def dimensions(self) -> int:
        """See `Embedder`."""
        return self._service.dimensions

    async def passages(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        np = lazy.numpy
        self._require_open()
        prefix = self._service.passage_prefix
        rows = [
            await self._ask([prefix + cleaned(text) for text in texts[start : start + _BATCH]])
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(rows) if rows else np.zeros((0, self.dimensions), np.float32)

    async def query(self, text: str) -> Floats:
        """See `Embedder`."""
        return (await self._ask([self._service.query_prefix + cleaned(text)]))[0]

    async def close(self) -> None:
        """See `Embedder`."""
        self._closed = True
        await self._client.close()

    async def _ask(self, texts: Sequence[str]) -> Floats:
        """One request. Many servers refuse an empty text: a dot stands for it."""
        self._require_open()
        service = self._service
        body = {"model": service.model, "input": [text or "." for text in texts], "encoding_format": "float"}
        headers = {"content-type": "application/json"}
        if key := service.key():
            headers["authorization"] = f"Bearer {key}"
        url = f"{service.base_url.rstrip('/')}/embeddings"
        try:
            async with self._client.post(url, json.dumps(body).encode(), headers) as response:
                if response.status != 200:
                    raise self._refused(response.status)
                answer = await response.read(_ANSWER_BYTES)
        except EgressError as error:
            raise EmbedderUnavailableError(error.what, error.fix) from None
        return self._rows(answer, len(texts))

    def _rows(self, answer: bytes, count: int) -> Floats:
        """The unit vectors in the order asked for; the server says the place of each."""
        np = lazy.numpy
        try:
            data: Any = json.loads(answer)["data"]
            placed = {int(one.get("index", place)): one["embedding"] for place, one in enumerate(data)}
            rows = np.array([placed[place] for place in range(count)], np.float64)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise self._strange("what are no vectors") from None
        if rows.shape != (count, self.dimensions):
            raise self._strange(f"vectors of shape {rows.shape}, not ({count}, {self.dimensions})")
        if not (np.abs(rows) < _LARGEST).all() or not rows.any(axis=1).all():
            raise self._strange("a vector that has no direction")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return (rows / lengths).astype(np.float32)

    def _refused(self, status: int) -> EmbedderUnavailableError:
        fix = {
            401: "correct the key of the embedder",
            403: "correct the key of the embedder",
            404: "correct the address or the model of the embedder",
        }.get(status, "try again later")
        return EmbedderUnavailableError(f"{self._service.model} answered with status {status}", fix)

    def _strange(self, what: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"{self._service.model} answered with {what}", "correct the model or its dimensions"
        )

    def _require_open(self) -> None:
        if self._closed:
            raise EmbedderUnavailableError("the embedder was closed", "open it again")
