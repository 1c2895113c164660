"""Which models could be used here: looked up without leaving this machine, offered and never taken."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from limnos.egress.address import is_loopback
from limnos.egress.errors import EgressError, StatusError
from limnos.egress.fetch import get_json
from limnos.kernel.errors import ModelUnavailableError, SettingsError
from limnos.kernel.messages import user
from limnos.kernel.model import Finish, Model, Request
from limnos.providers.routes import Route, Secret

Kind: TypeAlias = Literal["configured", "local", "key", "embedded"]

PROBE_S = 0.4
LIST_S = 10.0
_MOST_MODELS = 500
_LONGEST_NAME = 200


class LocalServer(NamedTuple):
    """A model server with the loopback port it listens on unless told otherwise."""

    name: str
    label: str
    port: int

    @property
    def base_url(self) -> str:
        """Its address on this machine."""
        return f"http://127.0.0.1:{self.port}/v1"


class KeyProvider(NamedTuple):
    """A hosted provider and the environment variable its tools read the key from."""

    variable: str
    name: str
    label: str
    base_url: str


LOCAL_SERVERS = (
    LocalServer("ollama", "Ollama", 11434),
    LocalServer("llama-server", "llama-server", 8080),
    LocalServer("lmstudio", "LM Studio", 1234),
)
KEY_PROVIDERS = (
    KeyProvider("OPENAI_API_KEY", "openai", "OpenAI", "https://api.openai.com/v1"),
    KeyProvider("OPENROUTER_API_KEY", "openrouter", "OpenRouter", "https://openrouter.ai/api/v1"),
    KeyProvider("DEEPSEEK_API_KEY", "deepseek", "DeepSeek", "https://api.deepseek.com/v1"),
    KeyProvider("ANTHROPIC_API_KEY", "anthropic", "Anthropic", "https://api.anthropic.com/v1"),
    KeyProvider("GROQ_API_KEY", "groq", "Groq", "https://api.groq.com/openai/v1"),
    KeyProvider("MISTRAL_API_KEY", "mistral", "Mistral", "https://api.mistral.ai/v1"),
    KeyProvider("XAI_API_KEY", "xai", "xAI", "https://api.x.ai/v1"),
    KeyProvider("TOGETHER_API_KEY", "together", "Together", "https://api.together.xyz/v1"),
    KeyProvider("CEREBRAS_API_KEY", "cerebras", "Cerebras", "https://api.cerebras.ai/v1"),
    KeyProvider("FIREWORKS_API_KEY", "fireworks", "Fireworks", "https://api.fireworks.ai/inference/v1"),
    KeyProvider("MOONSHOT_API_KEY", "moonshot", "Moonshot", "https://api.moonshot.ai/v1"),
    KeyProvider(
        "DASHSCOPE_API_KEY", "dashscope", "Qwen", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
    ),
    KeyProvider(
        "GEMINI_API_KEY", "gemini", "Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
    ),
)  # fmt: skip


class ModelOffer(NamedTuple):
    """A model source for the first-run screen.

    `name` and `base_url` are what the settings would hold; `variable` names where a key was found, never
    the key. `reachable` is None where nothing was asked, because that would leave this machine. `reason`
    says why it can't be used, or what to know about it.
    """

    kind: Kind
    name: str
    label: str
    base_url: str = ""
    variable: str = ""
    reachable: bool | None = None
    latency_ms: int | None = None
    models: tuple[str, ...] = ()
    reason: str = ""


class Places(NamedTuple):
    """Where to look. `variables` is the environment; `embedded` names the models that are on this disk."""

    configured: Sequence[Route] = ()
    variables: Mapping[str, str] | None = None
    embedded: Sequence[str] = ()
    servers: Sequence[LocalServer] = LOCAL_SERVERS


async def discover(places: Places, probe_s: float = PROBE_S) -> list[ModelOffer]:
    """All offers, best first: what is configured, local servers that run, keys, the embedded model.

    Loopback addresses are asked for their models, all at once and for `probe_s` seconds; nothing else is.
    Local servers that do not run are left out.
    """
    configured = (_configured(route, probe_s) for route in places.configured)
    local = (_local(server, probe_s) for server in places.servers)
    probed = await asyncio.gather(*configured, *local)
    running = [offer for offer in probed if offer is not None]
    return [*running, *_keys(places.variables or {}), _embedded(places.embedded)]


async def list_models(route: Route, seconds: float = LIST_S) -> tuple[str, ...]:
    """The models that `route` offers. It sends the key: only after a yes. Raises EgressError."""
    headers = {"authorization": f"Bearer {route.api_key.reveal()}"} if route.api_key else {}
    return _names(await get_json(route.models_url, seconds=seconds, headers={**headers, **route.headers}))


async def round_trip(model: Model, monotonic: Callable[[], float] = time.monotonic) -> float:
    """Seconds that one real, minimal request takes. Raises ModelError when it is not answered."""
    began = monotonic()
    finish: Finish | None = None
    async for delta in model.stream(Request((user("Answer with the one word: ready"),), max_tokens=16)):
        finish = delta if isinstance(delta, Finish) else finish
    if finish is None or finish.reason in ("error", "incomplete"):
        detail = finish.detail if finish is not None else "the reply had no end"
        raise ModelUnavailableError(
            f"{model.name} did not answer: {detail}", "check the model and its server"
        )
    return monotonic() - began


async def _configured(route: Route, probe_s: float) -> ModelOffer:
    offer = ModelOffer("configured", route.name, route.name, route.base_url, models=(route.model,))
    if not is_loopback(route.url):
        return offer
    began = time.monotonic()
    try:
        await list_models(route, probe_s)
    except StatusError as error:  # it runs; not every server lists its models
        return offer._replace(reachable=True, reason=error.what if error.status in (401, 403) else "")
    except EgressError as error:
        return offer._replace(reachable=False, reason=error.what)
    return offer._replace(reachable=True, latency_ms=_ms(began))


async def _local(server: LocalServer, probe_s: float) -> ModelOffer | None:
    """What a standard port says; None when nothing answers there."""
    began = time.monotonic()
    offer = ModelOffer("local", server.name, server.label, server.base_url, reachable=False)
    try:
        models = _names(await get_json(f"{server.base_url}/models", seconds=probe_s))
    except StatusError as error:
        return offer._replace(reason="it runs and asks for a key") if error.status in (401, 403) else None
    except EgressError:
        return None
    reason = "" if models else "it runs and has no model yet"
    return offer._replace(reachable=bool(models), latency_ms=_ms(began), models=models, reason=reason)


def _keys(variables: Mapping[str, str]) -> list[ModelOffer]:
    offers: list[ModelOffer] = []
    for provider in KEY_PROVIDERS:
        value = variables.get(provider.variable, "")
        if not value.strip():
            continue
        try:
            Secret(value, provider.variable)
            reason, reachable = f"the key in {provider.variable} is used only after a yes", None
        except SettingsError as error:
            reason, reachable = error.what, False
        offers.append(
            ModelOffer(
                "key",
                provider.name,
                provider.label,
                provider.base_url,
                provider.variable,
                reachable,
                reason=reason,
            )
        )
    return offers


def _embedded(models: Sequence[str]) -> ModelOffer:
    reason = "" if models else "its weights are not on this disk yet"
    return ModelOffer(
        "embedded", "embedded", "on this machine", reachable=bool(models), models=tuple(models), reason=reason
    )


def _names(value: object) -> tuple[str, ...]:
    """The model names of a `/v1/models` answer, in the forms of OpenAI and Ollama; nothing unprintable."""
    answer = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    listed = answer.get("data") or answer.get("models")
    entries = cast("list[object]", listed)[:_MOST_MODELS] if isinstance(listed, list) else []
    names: list[str] = []
    for entry in entries:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {"id": entry}
        name = fields.get("id") or fields.get("model") or fields.get("name")
        if isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST_NAME:
            names.append(name)
    return tuple(names)


def _ms(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
