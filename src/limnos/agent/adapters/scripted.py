"""A model that follows a script file."""

from pathlib import Path

from limnos.agent.models import Sources
from limnos.kernel.model import Model
from limnos.providers.scripted import load_script


def make(name: str, sources: Sources) -> Model:
    """The model that follows the script at the path `name`."""
    return load_script(Path(name))
