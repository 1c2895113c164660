"""What an HTTP status other than 200 means, said so that a person knows what to do."""

import json
import re
from typing import Any

from limnos.egress.errors import ConnectFailedError, EgressError, TimedOutError, UntrustedError
from limnos.kernel.errors import (
    ContextOverflowError,
    ModelBusyError,
    ModelError,
    ModelRefusedError,
    ModelRequestError,
    ModelUnavailableError,
)
from limnos.providers.chunks import error_text
from limnos.providers.routes import Route

BUSY = (429, 503, 529)
_SHOWN = 300
_READ = 4096

# Wordings of OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama, LM Studio, TGI, Anthropic, Gemini, Mistral,
# xAI, Moonshot, Cohere and DashScope, as their servers send them.
_OVERFLOW = re.compile(
    r"context_length_exceeded|exceed_context_size|context_window_exceeded|request_too_large"
    r"|maximum (?:context|prompt|input) length"
    r"|exceed\w* .{0,60}(?:context (?:size|length|window)|number of tokens|token limit|max\w* length)"
    r"|context (?:size|length|window) .{0,40}(?:exceed|overflow|of only)|context the overflows"
    r"|(?:prompt|input|request|messages) (?:is |was |are )?too (?:long|large)"
    r"|longer than the model's context|too many (?:input )?tokens(?! per)|tokens.{0,40} must be <="
    r"|reduce the length of the|range of input length|tokens to keep from the initial prompt is greater",
    re.IGNORECASE | re.DOTALL,
)
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"maximum (?:context|prompt|input) length(?: is| of)?:? ?(?:only )?\(?(\d+)",
        r"(\d+) maximum context length",
        r'"n_ctx": ?(\d+)',
        r"context (?:size|length|window)(?: of| is)?(?: only)?[ (:]+(\d+)",
        r"> (\d+) maximum",
        r"(?:number of tokens allowed|token limit)[ (:]+(\d+)",
        r"must be <= (\d+)",
        r"cannot exceed (\d+)",
        r"\[1, ?(\d+)\]",
    )
)


def is_loading(status: int, body: bytes) -> bool:
    """Whether a local server says that its model is not there yet (llama.cpp: `Loading model`)."""
    return status == 503 and b"loading model" in body[:_READ].lower()


def said(route: Route, body: bytes) -> str:
    """What an error body says, as one line of at most 300 printable characters without the key."""
    text = body.decode("utf-8", "replace")
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        is_page = text.lstrip()[:1] == "<"
        told = "a web page" if is_page else text
    else:
        told = error_text(value) or text
    printable = "".join(sign if sign.isprintable() else " " for sign in told[:_READ])
    return route.api_key.mask(" ".join(printable.split()))[:_SHOWN]


def is_overflow(status: int, body: bytes) -> bool:
    """Whether the request was larger than the model's window."""
    return status == 413 or (
        status in (400, 422, 500) and _OVERFLOW.search(body[:_READ].decode("utf-8", "replace")) is not None
    )


def overflow_limit(body: bytes) -> int | None:
    """The window in tokens, where an overflow error names it."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", body[:_READ].decode("utf-8", "replace"))
    for pattern in _LIMITS:
        if (found := pattern.search(text)) is not None and len(found.group(1)) < 10:
            return int(found.group(1)) or None
    return None


def status_error(route: Route, status: int, body: bytes, asked_s: float | None = None) -> ModelError:
    """The error that a status and its body stand for; `asked_s` is what `Retry-After` named."""
    text = said(route, body) or "no reason given"
    what = f"{route.name}/{route.model} answered {status}: {text}"
    if is_overflow(status, body):
        fix = f"set providers.{route.name}.context_tokens to the model's window"
        return ContextOverflowError(what, fix, overflow_limit(body))
    if status in (401, 403):
        key = (
            f"the key {route.api_key} from {route.api_key.source}"
            if route.api_key
            else "a request without key"
        )
        return ModelRefusedError(
            f"{route.name} refused {key} ({status}): {text}",
            _key_fix(route),
        )
    if status == 402 or (status == 429 and b"insufficient_quota" in body):
        return ModelRefusedError(what, f"add credit to the account of {route.name}, or use another provider")
    if status in BUSY:
        return ModelBusyError(what, "wait, or set `fallback` to another provider", asked_s)
    if status >= 500 or status == 408:
        return ModelUnavailableError(what, "try again later, or set `fallback` to another provider")
    if 300 <= status < 400:
        return ModelRequestError(
            f"{what} (a redirect)", f"set providers.{route.name}.base_url to where it leads"
        )
    fix = (
        f"check providers.{route.name}.model and base_url"
        if status == 404
        else "change the request or the model"
    )
    return ModelRequestError(what, fix)


def _key_fix(route: Route) -> str:
    """How to give a route another key: the settings hold only where it lies."""
    kind, _, name = route.api_key.source.partition(" ") if route.api_key else ("", "", "")
    if kind == "secret":
        return f"limnos secrets set {name}"
    if route.api_key and kind.isidentifier() and not name:
        return f"export {kind}=... with a valid key"
    set_it = f"limnos config set providers.{route.name}.api_key secret:{route.name}"
    return f"limnos secrets set {route.name}, then {set_it}"


def network_error(route: Route, error: EgressError) -> ModelUnavailableError:
    """A fault below HTTP: the next route may be tried."""
    what = f"{route.name}/{route.model} at {error.what}"
    match error:
        case TimedOutError():
            fix = f"raise providers.{route.name}.timeout_s (now {route.timeout_s:g} s), or use another model"
        case UntrustedError():
            fix = error.fix
        case ConnectFailedError():
            fix = f"start the server, or correct providers.{route.name}.base_url"
        case _:
            fix = error.fix
    return ModelUnavailableError(what, fix)
