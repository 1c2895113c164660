"""Which model a session talks to: from a name in the settings to a `Model`."""

import importlib
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, Protocol, cast

from limnos.agent.money import money
from limnos.agent.settings import Environment, Settings
from limnos.kernel.errors import SettingsError
from limnos.kernel.model import Model, Usage
from limnos.kernel.seams import Clock, Prices
from limnos.providers.catalogue import DEFAULT, catalogue
from limnos.providers.fallback import Fallback
from limnos.providers.rate import Buckets

SCRIPTED = "scripted:"
MILLION = Decimal(1_000_000)
# Only the adapter that is used is imported: each brings modules that the others do not need.
ADAPTERS = {kind: f"limnos.agent.adapters.{kind}" for kind in ("embedded", "remote", "scripted")}


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
        if table.get("model") and table.get("base_url"):
            return f"{name}/{table['model']}"
    return DEFAULT


class Adapter(Protocol):
    """A module of `ADAPTERS`."""

    def make(self, name: str, sources: Sources) -> Model:
        """The model called `name`, without what told its kind. Raises SettingsError or UsageError."""
        ...


def make(name: str, sources: Sources) -> Model:
    """One model by name: `scripted:FILE`, a name of the catalogue, or PROVIDER/MODEL."""
    if name.startswith(SCRIPTED):
        return _adapter("scripted").make(name.removeprefix(SCRIPTED), sources)
    plain = name.removeprefix("embedded/")
    if plain in catalogue():
        return _adapter("embedded").make(plain, sources)
    check_name(name, sources.settings.providers)
    return _adapter("remote").make(name, sources)


def check_name(name: str, providers: Mapping[str, Any]) -> None:
    """Raise SettingsError when no model can be called `name`; says how to add a server."""
    if name.startswith(SCRIPTED) or name.removeprefix("embedded/") in catalogue():
        return
    provider, slash, _ = name.partition("/")
    if provider in providers:
        return
    if slash:
        fix = f"limnos config set providers.{provider}.base_url ADDRESS"
        raise SettingsError(f"no provider is called {provider!r}, so there is no model {name!r}", fix)
    known = [*catalogue(), *(f"{other}/MODEL" for other in providers)]
    raise SettingsError(f"no model is called {name!r}", f"limnos model use one of: {', '.join(known)}")


def _adapter(kind: str) -> Adapter:
    return cast("Adapter", importlib.import_module(ADAPTERS[kind]))


def prices(settings: Settings) -> Prices:
    """What requests cost by the prices of `[providers.NAME]`; zero for a model without a price."""

    def price(model: str, usage: Usage) -> tuple[Decimal, str]:
        table = settings.providers.get(model.split("/", 1)[0], {})
        fresh = max(usage.prompt_tokens - usage.cached_tokens, 0)
        cost = (
            _amount(table, "price_prompt") * fresh
            + _amount(table, "price_cached", "price_prompt") * usage.cached_tokens
            + _amount(table, "price_completion") * usage.completion_tokens
        )
        return cost / MILLION, str(table.get("currency", "USD"))

    return price


def _amount(table: Mapping[str, Any], *keys: str) -> Decimal:
    """The first of these prices that is set; zero when none is."""
    key = next((key for key in keys if table.get(key)), None)
    return Decimal(0) if key is None else money(str(table[key]), key)
