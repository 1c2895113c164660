"""`limnos model`: the embedded models on this machine."""

import time
from pathlib import Path
from typing import Annotated

from limnos.agent.models import SCRIPTED
from limnos.agent.settings import load
from limnos.agent.settings_file import set_value, unset_value
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.fetching import chosen_name, fetch, weights
from limnos.frontends.cli.private import refuse_key
from limnos.frontends.cli.times import duration, size
from limnos.frontends.cli.trying import answer_seconds
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.providers.catalogue import catalogue, entry

_Name = Annotated[str, Argument(metavar="NAME", help="a name of limnos model list")]
_Json = Annotated[bool, Option("--json", help="one record a line")]


def list_models(console: Console, as_json: _Json = False) -> None:
    """Show what can be used and what is on disk."""
    used = chosen_name(load(console.environment))
    cache = weights(console.environment)
    known = list(catalogue().values())
    if as_json:
        for model in known:
            console.record(
                {
                    "name": model.name,
                    "in_use": model.name == used,
                    "bytes": model.size,
                    "on_disk": cache.has(model),
                    "sha256": model.sha256,
                    "licence": model.licence.id,
                }
            )
        return
    people = console.terminal.columns_for_lists
    rows = [
        (
            "yes" if model.name == used else "no",
            size(model.size) if people else str(model.size),
            "yes" if cache.has(model) else "no",
            model.name,
        )
        for model in known
    ]
    console.rows(("in use", "size", "on disk", "name"), rows)
    if used not in catalogue():
        console.say(f"in use: {used}")


def get(
    console: Console,
    name: _Name,
    source: Annotated[
        Path | None, Option("--from", metavar="FILE", help="copy this file instead of fetching")
    ] = None,
    yes: Annotated[bool, Option("--yes", help="accepted for scripts; the command is the yes")] = False,
) -> None:
    """Fetch a model; a fetch that was paused goes on where it stopped."""
    model = entry(name)
    if weights(console.environment).has(model):
        weights(console.environment).ready(model)
        console.done(f"{name}  is here already, hash verified", f"limnos model use {name}")
        return
    if source is not None and source.exists() and not source.is_file():
        raise UsageError(f"{source} cannot be read: it is no regular file", "name the model file")
    fetch(console, model, source)
    console.say(f"next: limnos model use {name}")


def use(console: Console, name: _Name) -> None:
    """Use a model from now on; a server (PROVIDER/MODEL) is asked once first."""
    refuse_own_commands("choosing the model")
    refuse_key("the name", name)
    told = ""
    if "/" in name and name.removeprefix("embedded/") not in catalogue():
        seconds = answer_seconds(console.environment, load(console.environment), name)
        told = f", it answered in {duration(seconds * 1000)}"
    elif not name.startswith(SCRIPTED):
        weights(console.environment).ready(entry(name.removeprefix("embedded/")))
    set_value(console.environment, "model", name)
    console.done(f"model is {one_line(name)}{told}", "limnos")


def remove(console: Console, name: _Name) -> None:
    """Remove a model's file from this machine."""
    model = entry(name)
    if not weights(console.environment).remove(model):
        console.say_line(console.look.signed("idle", f"{name} is absent; nothing was removed"))
        return
    if load(console.environment).model == name:
        unset_value(console.environment, "model")
    console.done(f"removed {name}, {size(model.size)} free again", f"limnos model get {name}")


def verify(console: Console, name: _Name) -> None:
    """Hash a model's file and compare it with the pinned hash."""
    began = time.monotonic()
    weights(console.environment).verify(entry(name))
    took = duration((time.monotonic() - began) * 1000)
    console.done(f"{name}  hash as pinned, read in {took}", f"limnos model use {name}")


FUNCTIONS = {"list": list_models, "get": get, "use": use, "remove": remove, "verify": verify}
