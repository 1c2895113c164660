"""Models behind OpenAI's chat completions, which nearly every server speaks in a dialect of its own."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

from limnos.egress.client import Client, Response, Timeouts
from limnos.egress.errors import BrokenError, EgressError
from limnos.kernel.errors import ModelBusyError, ModelUnavailableError
from limnos.kernel.model import Delta, Notice, Request, Usage
from limnos.kernel.seams import Clock
from limnos.providers.assemble import ReplyAssembler
from limnos.providers.body import ReplyBody
from limnos.providers.openai_codec import Dialect
from limnos.providers.rate import Bucket
from limnos.providers.refusals import BUSY, is_loading, is_overflow, network_error, status_error
from limnos.providers.request_body import Body, BodyWriter
from limnos.providers.retry import Backoff, retry_after
from limnos.providers.routes import Route
from limnos.retrieval import tokens

Json = dict[str, Any]

# Fields that some servers reject by name; the request is then sent once more without them.
_OPTIONAL = ("stream_options", "temperature")
_KeyHeader: TypeAlias = Literal["authorization", "x-api-key"]
_NEWER_LIMIT = "max_completion_tokens"
# A local server that was started just now: large models take minutes to load from a slow disk.
_LONGEST_LOAD_S = 120.0
_LOAD_POLL_S = 1.0
_UNTOLD_S = 2.0  # a shorter wait is over before anybody has read of it


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a provider needs from outside. `bucket` is shared by all routes of a key."""

    clock: Clock
    bucket: Bucket | None = None
    backoff: Backoff = field(default_factory=Backoff)
    load: Callable[[str], bytes] | None = None


@dataclass(slots=True)
class _Attempts:
    """What was tried for one request. `other_header`: the key goes as `x-api-key` for now."""

    tried: int = 1
    waited_s: float = 0.0
    reconnected: bool = False
    answered: bool = False
    other_header: bool = False
    loading_s: float = 0.0
    busy: ModelBusyError | None = None


class OpenAICompatible:
    """One route as a `Model`. Opens connections at the first request and keeps them until `close`.

    What it learns about the server, such as a field it does not take, it keeps for its life.
    """

    def __init__(self, route: Route, around: Surroundings) -> None:
        self.route = route
        self._clock = around.clock
        self._bucket = around.bucket or Bucket(around.clock)
        self._backoff = around.backoff
        self._client = Client(Timeouts(connect_s=route.connect_timeout_s, read_s=route.timeout_s))
        self._dialect = Dialect(
            self.name, route.reasoning, route.reasoning_field, around.load if route.sees_images else None
        )
        self._writer = BodyWriter(self._dialect)
        self._refused_fields: set[str] = set()
        self._key_header: _KeyHeader = "authorization"

    @property
    def name(self) -> str:
        """`route/model`."""
        return f"{self.route.name}/{self.route.model}"

    @property
    def context_tokens(self) -> int:
        """The window as the settings say."""
        return self.route.context_tokens

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` in the o200k encoding, whatever the model's own is."""
        return tokens.count(text)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def stream(self, request: Request) -> AsyncGenerator[Delta]:
        """Send `request` and yield the reply; see `kernel.model.Model`.

        Before the first delta it tries again on 429 and 503, after a key was refused (once, as
        `x-api-key`), after a field was refused (once each) and when a kept connection turned out dead.
        """
        attempts = _Attempts()
        while not attempts.answered:
            if (wait := self._bucket.closed_s) >= _UNTOLD_S:
                yield self._waits(wait, attempts.busy)
            await self._bucket.take()
            try:
                async with aclosing(self._attempt(request, attempts)) as deltas:
                    async for delta in deltas:
                        yield delta
            except BrokenError as error:
                if attempts.reconnected:
                    raise network_error(self.route, error) from None
                attempts.reconnected = True
            except EgressError as error:
                raise network_error(self.route, error) from None
            if attempts.loading_s == _LOAD_POLL_S and not attempts.answered:
                yield self._loads()

    async def _attempt(self, request: Request, attempts: _Attempts) -> AsyncGenerator[Delta]:
        """The reply, or nothing when the request is to be sent again."""
        body = self._body(request)
        async with self._client.post(self.route.url, body.data, self._headers(attempts)) as response:
            if not 200 <= response.status < 300:
                await self._prepare_retry(response, attempts)
                return
            attempts.answered = True
            if attempts.other_header:
                self._key_header = "x-api-key"
            async with aclosing(self._read(response, request)) as deltas:
                async for delta in deltas:
                    if isinstance(delta, Usage):
                        delta = delta._replace(expected_tokens=body.rough_tokens)  # noqa: PLW2901
                    yield delta

    async def _read(self, response: Response, request: Request) -> AsyncGenerator[Delta]:
        if response.headers.get("content-type", "").lower().startswith("text/html"):
            raise ModelUnavailableError(
                f"{self.name} answered with a web page", f"correct providers.{self.route.name}.base_url"
            )
        assembler = ReplyAssembler(tool.name for tool in request.tools)
        body = ReplyBody(assembler)
        broken = ""
        heard = self._clock.monotonic()
        try:
            async with aclosing(response.chunks()) as chunks:
                async for chunk in chunks:
                    events = body.events
                    for delta in body.feed(chunk):
                        yield delta
                    if body.ended:
                        break
                    now = self._clock.monotonic()
                    heard = now if body.events > events else heard
                    if now - heard > self.route.timeout_s:
                        broken = f"nothing but keep-alives for {self.route.timeout_s:g} s"
                        break
            if body.ended:
                await response.drain()
        except EgressError as error:
            broken = error.what
        for delta in (*body.close(), *assembler.finish(broken)):
            yield delta

    async def _prepare_retry(self, response: Response, attempts: _Attempts) -> None:
        """Change what makes another try worth it; otherwise raise what the server said."""
        body = await response.excerpt()
        asked = retry_after(response.headers.get("retry-after"), datetime.fromisoformat(self._clock.now()))
        error = status_error(self.route, response.status, body, asked)
        if response.status == 401 and self.route.api_key and self._key_header == "authorization":
            attempts.other_header = not attempts.other_header
            if attempts.other_header:
                return
        if (refused := self._refused_field(response.status, body)) is not None:
            self._refused_fields.add(refused)
            return
        if is_loading(response.status, body) and attempts.loading_s < _LONGEST_LOAD_S:
            attempts.loading_s += _LOAD_POLL_S
            await self._clock.sleep(_LOAD_POLL_S)
            return
        if response.status in BUSY and isinstance(error, ModelBusyError):
            wait = self._backoff.wait(attempts.tried, attempts.waited_s, asked)
            if wait is not None:
                attempts.tried += 1
                attempts.waited_s += wait
                attempts.busy = error
                self._bucket.pause(wait)
                return
            tries = f" (tried {attempts.tried} times)" if attempts.tried > 1 else ""
            raise ModelBusyError(error.what + tries, error.fix, asked)
        raise error

    def _waits(self, seconds: float, busy: ModelBusyError | None) -> Notice:
        """What a person reads during a pause; another user of the key may have been told to make it."""
        why = busy.what if busy else f"the server of {self.route.name} asked for a pause"
        fix = busy.fix if busy else "wait, or set `fallback` to another provider"
        return Notice("model_busy", f"waiting {seconds:.0f} s: {why}", fix)

    def _loads(self) -> Notice:
        what = f"{self.name} is loading its model; waiting for it, {_LONGEST_LOAD_S:.0f} s at most"
        return Notice("model_loading", what, "wait; a smaller model loads faster")

    def _refused_field(self, status: int, body: bytes) -> str | None:
        """The field of our request that an error names and that can be left out or renamed."""
        if status not in (400, 422) or is_overflow(status, body):
            return None
        candidates = [*_OPTIONAL]
        if _NEWER_LIMIT.encode() in body and self.route.max_tokens_field != _NEWER_LIMIT:
            candidates.append(self.route.max_tokens_field)
        return next(
            (name for name in candidates if name.encode() in body and name not in self._refused_fields), None
        )

    def _body(self, request: Request) -> Body:
        limit = self.route.max_tokens_field
        fields: Json = {
            "model": self.route.model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
            _NEWER_LIMIT if limit in self._refused_fields else limit: request.max_tokens,
        }
        for name in _OPTIONAL:
            if name in self._refused_fields:
                del fields[name]
        fields |= {**self.route.extra, **request.extra}
        return self._writer.write(fields, request)

    def _headers(self, attempts: _Attempts) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "text/event-stream", **self.route.headers}
        key = self.route.api_key
        if not key or any(name.lower() == "authorization" for name in self.route.headers):
            return headers
        if attempts.other_header or self._key_header == "x-api-key":
            return headers | {"x-api-key": key.reveal()}
        return headers | {"authorization": f"Bearer {key.reveal()}"}
