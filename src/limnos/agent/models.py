"""Which model a session talks to: from a name in the settings to a `Model`."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from limnos.agent.settings import Environment, Settings, money
from limnos.kernel.errors import SettingsError
from limnos.kernel.model import Model, Usage
from limnos.kernel.seams import Clock, Prices
from limnos.providers.catalogue import DEFAULT, catalogue, entry
from limnos.providers.embedded import Embedded, Options
from limnos.providers.fallback import Fallback
from limnos.providers.openai_compatible import OpenAICompatible, Surroundings
from limnos.providers.rate import Buckets
from limnos.providers.routes import Route, Secret
from limnos.providers.scripted import load_script
from limnos.providers.weights import Weights
from limnos.store.secrets import Secrets

SCRIPTED = "scripted:"
MILLION = Decimal(1_000_000)


class Sources(NamedTuple):
    """What models are made from. `load` gives the bytes of a media block."""

    settings: Settings
    environment: Environment
    clock: Clock
    buckets: Buckets
    load: Callable[[str], bytes] | None = None


def choose(sources: Sources) -> Model:
    """The model of the settings, with its fallbacks behind it. Raises SettingsError or UsageError."""
    first = sources.settings.model or default_name(sources.settings)
    names = [first, *(name.strip() for name in sources.settings.fallback.split(",") if name.strip())]
    models = [make(name, sources) for name in names]
    return models[0] if len(models) == 1 else Fallback(models)


def default_name(settings: Settings) -> str:
    """What is used when nothing is chosen: a configured provider, else the embedded model."""
    for name, table in settings.providers.items():
        if table.get("model"):
            return f"{name}/{table['model']}"
    return DEFAULT


def make(name: str, sources: Sources) -> Model:
    """One model by name: `scripted:FILE`, a name of the catalogue, or PROVIDER/MODEL."""
    if name.startswith(SCRIPTED):
        return load_script(Path(name.removeprefix(SCRIPTED)))
    plain = name.removeprefix("embedded/")
    if plain in catalogue():
        chosen = entry(plain)
        file = weights(sources.environment).ready(chosen)
        return Embedded(chosen, file, Options(threads=sources.settings.embedded_threads))
    provider, _, model = name.partition("/")
    if provider not in sources.settings.providers:
        known = [*catalogue(), *(f"{other}/MODEL" for other in sources.settings.providers)]
        raise SettingsError(f"no model is called {name!r}", f"limnos model use one of: {', '.join(known)}")
    route = route_of(provider, model, sources)
    around = Surroundings(sources.clock, sources.buckets.of(route.api_key, route.base_url), load=sources.load)
    return OpenAICompatible(route, around)


def weights(environment: Environment) -> Weights:
    """The cache of model files that all homes share."""
    return Weights(environment.cache, environment.child_environment())


def route_of(provider: str, model: str, sources: Sources) -> Route:
    """The route that `[providers.NAME]` describes; `model` overrides the table's."""
    table = dict(sources.settings.providers[provider])
    chosen = model or str(table.pop("model", ""))
    table.pop("model", None)
    if not chosen:
        raise SettingsError(
            f"providers.{provider} names no model", f"limnos config set providers.{provider}.model NAME"
        )
    table["api_key"] = key_of(str(table.get("api_key", "")), sources.environment)
    for name in ("timeout_s", "connect_timeout_s"):
        if name in table:
            table[name] = float(table[name])
    return Route(name=provider, model=chosen, **table)


def key_of(where: str, environment: Environment) -> Secret:
    """The key that `env:NAME` or `secret:NAME` stands for; nothing for the empty text."""
    kind, _, name = where.partition(":")
    if not where:
        return Secret()
    if kind == "env":
        value = environment.text(name)
        if not value:
            raise SettingsError(
                f"the variable {name} is not set or empty", f"export {name}=..., or limnos secrets set"
            )
        return Secret(value, name)
    if kind == "secret":
        value = Secrets(environment.home).get(name) or ""
        if not value:
            raise SettingsError(f"no secret is called {name}", f"limnos secrets set {name}")
        return Secret(value, f"secret {name}")
    raise SettingsError("a key stands in the settings in plain text", "write env:NAME or secret:NAME instead")


def prices(settings: Settings) -> Prices:
    """What requests cost by the prices of `[providers.NAME]`; zero for a model without a price."""

    def price(model: str, usage: Usage) -> tuple[Decimal, str]:
        table = settings.providers.get(model.split("/", 1)[0], {})
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        cached = table.get("price_cached") or table.get("price_prompt")
        cost = (
            _money(table, "price_prompt") * fresh
            + _amount(cached, "price_cached") * usage.cached_tokens
            + _money(table, "price_completion") * usage.completion_tokens
        )
        return cost / MILLION, str(table.get("currency", "USD"))

    return price


def _money(table: Mapping[str, Any], key: str) -> Decimal:
    return _amount(table.get(key), key)


def _amount(value: object, key: str) -> Decimal:
    return money(str(value), key) if value else Decimal(0)


def cap(text: str, key: str) -> Decimal | None:
    """A cap of money; None when there is none."""
    return money(text, key) if text else None
