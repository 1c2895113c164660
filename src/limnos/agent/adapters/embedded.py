"""A model of the catalogue, run on this machine."""

from limnos.agent.models import Sources
from limnos.agent.settings import Environment
from limnos.kernel.model import Model
from limnos.providers.catalogue import entry
from limnos.providers.embedded import Embedded, Options
from limnos.providers.weights import Weights


def make(name: str, sources: Sources) -> Model:
    """The embedded model called `name`; its file must be there. Raises UsageError."""
    chosen = entry(name)
    file = weights(sources.environment).ready(chosen)
    return Embedded(chosen, file, Options(threads=sources.settings.embedded_threads))


def weights(environment: Environment) -> Weights:
    """The cache of model files that all homes share."""
    return Weights(environment.cache, environment.child_environment())
