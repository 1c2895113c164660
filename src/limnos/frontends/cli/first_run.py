"""The first start: which model. Nothing is fetched, used or read before a yes; `q` leaves all as it was."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from limnos.agent.settings import Settings, load
from limnos.agent.settings_file import set_value
from limnos.frontends.cli.cells import pad
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.fetching import cost, fetch, missing, weights
from limnos.frontends.cli.private import refuse_key
from limnos.frontends.cli.secret_input import ask_secret
from limnos.frontends.cli.table import PROGRAM
from limnos.frontends.cli.times import duration
from limnos.frontends.cli.trying import answer_seconds
from limnos.kernel.errors import LimnosError, UsageError
from limnos.providers.catalogue import DEFAULT, Entry, catalogue
from limnos.providers.discovery import ModelOffer, Places, discover
from limnos.store.secrets import Secrets

_EMBEDDED = ((DEFAULT, "works offline after"), ("qwen2.5-coder-0.5b", "weaker"))
_LABEL = 19
_OWN = "own"


class Row(NamedTuple):
    """One line of the question, and what a yes to it does. `paused`: its fetch was begun before."""

    label: str
    cost: str
    take: Callable[[Console], None]
    paused: bool = False


def is_first(console: Console, settings: Settings) -> bool:
    """Whether no model was chosen and the default one is not here."""
    return not settings.model and missing(console.environment, settings) is not None


def choose(console: Console) -> bool:
    """Ask which model to use and prepare it; False when the person quits."""
    place = console.look.path(str(console.environment.home))
    console.greeting.complete(f", first run. State will be in {place}")
    rows = _rows(console)
    console.say("Which model?")
    for number, row in enumerate(rows, 1):
        console.say(f"  {number}  {pad(row.label, _LABEL)} {row.cost}")
    default = str(next((number for number, row in enumerate(rows, 1) if row.paused), 1))
    while True:
        answer = console.ask(f"Number [{default}], q quits:" if default else "Number, q quits:") or default
        if answer == "q":
            console.say_line(console.look.signed("idle", "cancelled; nothing was changed"))
            return False
        if answer.isdecimal() and 1 <= int(answer) <= len(rows):
            if _taken(console, rows[int(answer) - 1]):
                return True
            default = ""  # Enter alone, pressed at an error, must not begin a large fetch


def _taken(console: Console, row: Row) -> bool:
    """Do what the row says; when it fails say so, and ask again."""
    try:
        row.take(console)
    except LimnosError as error:
        console.fail(error)
        return False
    return True


def _rows(console: Console) -> list[Row]:
    embedded = [_embedded(console, catalogue()[name], note) for name, note in _EMBEDDED]
    found = asyncio.run(discover(Places(variables=console.environment.variables)))
    offered = [_offered(offer) for offer in found if offer.kind in ("local", "key")]
    return [*embedded, *offered, Row("another server or key", "", _other)]


def _embedded(console: Console, entry: Entry, note: str) -> Row:
    def take(console: Console) -> None:
        fetch(console, entry, again=PROGRAM)
        set_value(console.environment, "model", entry.name)

    paused = weights(console.environment).fetched_bytes(entry) > 0
    told = cost(console.environment, entry) + ("" if paused else f"; {note}")
    return Row(entry.label, told, take, paused)


def _offered(offer: ModelOffer) -> Row:
    if offer.kind == "key":
        label, cost = offer.variable, "set, not tried, used only if you choose it"
    elif offer.reachable:
        label = offer.name
        cost = f"running, answers in {offer.latency_ms} ms: {', '.join(map(one_line, offer.models[:3]))}"
    else:
        label, cost = offer.name, one_line(offer.reason)

    def take(console: Console) -> None:
        first = offer.models[0] if offer.models else ""
        model = console.ask(f"Model [{one_line(first)}]:") or first if first else _filled(console, "Model:")
        key = {"api_key": f"env:{offer.variable}"} if offer.variable else {}
        _use(console, offer.name, {"base_url": offer.base_url, "model": model, **key})

    return Row(label, cost, take)


def _other(console: Console) -> None:
    """A server of the person's own: its address, its model, and a key where it needs one."""
    address = _filled(console, "Address, for example http://127.0.0.1:11434/v1:")
    model = _filled(console, "Model:")
    secrets = Secrets(console.environment.home)
    value = ask_secret(console, "Key, empty for none:")
    if value:
        secrets.set(_OWN, value)
    key = {"api_key": f"secret:{_OWN}"} if value else {}
    try:
        _use(console, _OWN, {"base_url": address, "model": model, **key})
    except LimnosError:
        _forget(console, secrets)
        raise


def _filled(console: Console, question: str) -> str:
    """An answer that is not empty: the question is asked until there is one, and Ctrl-C leaves."""
    while not (answer := console.ask(question)):
        continue
    return answer


def _forget(console: Console, secrets: Secrets) -> None:
    """Take back a key that did not help, and the file when it held nothing else."""
    if secrets.remove(_OWN) and not secrets.names():
        (console.environment.home / "secrets.toml").unlink()


def _use(console: Console, provider: str, table: Mapping[str, str]) -> None:
    """Store a provider once one real request through it was answered."""
    if not table["base_url"].startswith(("http://", "https://")) or not table["model"]:
        raise UsageError("a server needs an address that begins with http, and a model", "try again, or q")
    refuse_key("the model", table["model"])
    settings = load(console.environment)
    name = f"{provider}/{table['model']}"
    with_it = replace(settings, providers={**settings.providers, provider: table})
    seconds = answer_seconds(console.environment, with_it, name)
    for key, value in table.items():
        set_value(console.environment, f"providers.{provider}.{key}", value)
    set_value(console.environment, "model", name)
    console.done(f"{one_line(name)} answered in {duration(seconds * 1000)}")
