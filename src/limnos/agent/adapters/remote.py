"""A model behind an OpenAI-compatible server, from `[providers.NAME]`."""

from limnos.agent.models import Sources
from limnos.agent.provider_table import OF_MONEY
from limnos.agent.settings import Environment, Settings
from limnos.kernel.errors import SettingsError
from limnos.kernel.model import Model
from limnos.providers.openai_compatible import OpenAICompatible, Surroundings
from limnos.providers.routes import Route, Secret, endpoint
from limnos.store.broker import Broker, host_of
from limnos.store.secrets import Secrets


def make(name: str, sources: Sources) -> Model:
    """The model of `PROVIDER/MODEL`."""
    provider, _, model = name.partition("/")
    route = route_of(provider, model, sources.settings, sources.environment)
    around = Surroundings(sources.clock, sources.buckets.of(route.api_key, route.base_url), load=sources.load)
    return OpenAICompatible(route, around)


def route_of(provider: str, model: str, settings: Settings, environment: Environment) -> Route:
    """The route that `[providers.NAME]` describes; `model` overrides the table's."""
    given = settings.providers[provider]
    table = {name: value for name, value in given.items() if name not in OF_MONEY}
    chosen = model or str(table.pop("model", ""))
    table.pop("model", None)
    if not chosen:
        raise SettingsError(
            f"providers.{provider} names no model", f"limnos config set providers.{provider}.model NAME"
        )
    if not table.get("base_url"):
        key = f"providers.{provider}.base_url"
        raise SettingsError(f"{key} is not set", f"limnos config set {key} ADDRESS")
    purpose = host_of(endpoint(str(table["base_url"]), provider))
    table["api_key"] = key_of(str(table.get("api_key", "")), environment, purpose)
    for name in ("timeout_s", "connect_timeout_s"):
        if name in table:
            table[name] = float(table[name])
    return Route(name=provider, model=chosen, **table)


def key_of(where: str, environment: Environment, purpose: str) -> Secret:
    """The key that `env:NAME` or `secret:NAME` stands for, to go to `purpose`; none for the empty text."""
    if not where:
        return Secret()
    value = Broker(Secrets(environment.home), environment.text).value(where, purpose)
    kind, _, name = where.partition(":")
    return Secret(value, name if kind == "env" else f"secret {name}")
