"""A model of the catalogue, run on this machine."""

from limnos.agent.models import Sources
from limnos.kernel.model import Model
from limnos.providers.catalogue import entry
from limnos.providers.embedded import Embedded, Options
from limnos.providers.weights import Weights


def make(name: str, sources: Sources) -> Model:
    """The embedded model called `name`; its file must be there. Raises UsageError."""
    chosen, environment = entry(name), sources.environment
    file = Weights(environment.cache, environment.pip_environment()).ready(chosen)
    return Embedded(chosen, file, Options(threads=sources.settings.embedded_threads))
