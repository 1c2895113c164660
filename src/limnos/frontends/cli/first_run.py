"""The first start: which model. Nothing is fetched, used or read before a yes; `q` leaves all as it was."""

from dataclasses import dataclass

from limnos import __version__
from limnos.agent.settings import Settings
from limnos.agent.settings_file import set_value
from limnos.frontends.cli.cells import pad
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.fetching import fetch, missing
from limnos.frontends.cli.secret_input import ask_secret
from limnos.frontends.cli.spans import Line, line
from limnos.frontends.cli.times import size
from limnos.kernel.errors import UsageError
from limnos.providers.catalogue import DEFAULT, Entry, catalogue
from limnos.store.secrets import Secrets

_OFFERED = (DEFAULT, "qwen2.5-coder-0.5b")
_NOTES = ("works offline after", "weaker")
_LABEL = 19
_PROVIDER = "own"


@dataclass(frozen=True, slots=True)
class _Offer:
    label: str
    cost: str
    entry: Entry | None = None


def is_first(console: Console, settings: Settings) -> bool:
    """Whether no model was chosen and the default one is not here."""
    return not settings.model and missing(console.environment, settings) is not None


def choose(console: Console) -> bool:
    """Ask which model to use and prepare it; False when the person quits."""
    offers = _offers()
    home = console.look.path(str(console.environment.home))
    console.say(f"limnos {__version__}, first run. State will be in {home}")
    console.say("Which model?")
    for number, offer in enumerate(offers, 1):
        console.say_line(console.look.cut(_row(number, offer)))
    while True:
        answer = console.ask("Number [1], q quits:") or "1"
        if answer == "q":
            console.say_line(console.look.signed("idle", "cancelled; nothing was changed"))
            return False
        if answer.isdecimal() and 1 <= int(answer) <= len(offers):
            return _take(console, offers[int(answer) - 1])


def _take(console: Console, offer: _Offer) -> bool:
    if offer.entry is None:
        return _other(console)
    fetch(console, offer.entry)
    set_value(console.environment, "model", offer.entry.name)
    return True


def _other(console: Console) -> bool:
    """A server of the person's own: its address, its model, and a key where it needs one."""
    address = console.ask("Address, for example http://127.0.0.1:11434/v1:")
    model = console.ask("Model:")
    if not address.startswith(("http://", "https://")) or not model:
        raise UsageError("a server needs an address that begins with http and a model", "limnos")
    key = ask_secret(console, "Key, empty for none:")
    set_value(console.environment, f"providers.{_PROVIDER}.base_url", address)
    set_value(console.environment, f"providers.{_PROVIDER}.model", model)
    if key:
        Secrets(console.environment.home).set(_PROVIDER, key)
        set_value(console.environment, f"providers.{_PROVIDER}.api_key", f"secret:{_PROVIDER}")
    set_value(console.environment, "model", f"{_PROVIDER}/{model}")
    console.done(f"model is {_PROVIDER}/{model}", "type a task, or /help")
    return True


def _offers() -> list[_Offer]:
    offers = [
        _Offer(entry.label, f"{size(entry.size)} to fetch, {size(entry.memory)} of memory; {note}", entry)
        for entry, note in zip((catalogue()[name] for name in _OFFERED), _NOTES, strict=True)
    ]
    return [*offers, _Offer("another server or key", "")]


def _row(number: int, offer: _Offer) -> Line:
    return line(f"  {number}  {pad(offer.label, _LABEL)} {offer.cost}".rstrip())
