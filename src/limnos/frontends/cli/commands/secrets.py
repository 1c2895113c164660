"""`limnos secrets`: keys, kept in the home and never shown."""

from pathlib import Path
from typing import Annotated

from limnos.agent.masking import references
from limnos.agent.settings import load
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.private import may_be_key
from limnos.frontends.cli.secret_input import read_secret
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import SettingsError, UsageError
from limnos.store.secrets import Secrets

_Name = Annotated[str, Argument(metavar="NAME", help="the name of the secret")]
_KeyFile = Annotated[Path | None, Option("--key-file", metavar="FILE", help="read the value from this file")]


def set_secret(console: Console, name: _Name, key_file: _KeyFile = None) -> None:
    """Store a value from --key-file, from stdin, or typed without echo."""
    refuse_own_commands("changing secrets")
    store = _store(console, name, "set")
    store.set(name, read_secret(console, name, key_file))
    using = _using(console, name)
    following = "limnos doctor" if using else f"limnos config set providers.{name}.api_key secret:{name}"
    console.done(f"{_ending(store, name)}{using}", following)


def rotate(console: Console, name: _Name, key_file: _KeyFile = None) -> None:
    """Store a new value in the place of the old one."""
    refuse_own_commands("changing secrets")
    store = _store(console, name, "rotate")
    store.require(name)
    store.rotate(name, read_secret(console, name, key_file))
    console.done(f"{_ending(store, name)}, the old value is gone{_using(console, name)}", "limnos doctor")


def allow(
    console: Console,
    name: Annotated[str, Argument(metavar="NAME", help="the name of the secret, or env:VARIABLE")],
    purpose: Annotated[str, Argument(metavar="HOST", help="where its value may go too: a host, or a use")],
) -> None:
    """Let a secret be used for one more purpose than its first."""
    refuse_own_commands("changing secrets")
    reference = name if name.startswith(("env:", "secret:")) else f"secret:{name}"
    store = _store(console, reference.partition(":")[2], "allow")
    if reference.startswith("secret:"):
        store.require(reference.removeprefix("secret:"))
    if may_be_key(purpose):
        raise UsageError("the purpose looks like a key, and a key is never an argument", "name a host")
    store.allow(reference, purpose.lower())
    uses = ", ".join(map(one_line, store.uses(reference)))
    console.done(f"{one_line(reference)} is for {uses}", "limnos secrets list")


def list_secrets(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> None:
    """Show names, uses, and the last four characters of values."""
    store = Secrets(console.environment.home)
    names = store.names()
    if as_json:
        for name in names:
            uses = list(store.uses(f"secret:{name}"))
            console.record({"name": name, "last_four": store.last_four(name), "uses": uses})
        return
    if not names:
        console.say_line(console.look.signed("idle", "no secret is set  next: limnos secrets set NAME"))
        return
    rows = [
        (store.last_four(name), name, ", ".join(store.uses(f"secret:{name}")) or "not used yet")
        for name in names
    ]
    console.rows(("ends in", "name", "used for"), rows)


def remove(console: Console, name: _Name) -> None:
    """Forget a value and what it was used for."""
    refuse_own_commands("changing secrets")
    if not Secrets(console.environment.home).remove(name):
        text = "no secret has that name; nothing was removed  next: limnos secrets list"
        console.say_line(console.look.signed("idle", text))
        return
    named = _named(console, name)
    if not named:
        console.done(f"removed {one_line(name)}", "limnos secrets list")
        return
    text = f"removed {one_line(name)}; still named by {', '.join(map(one_line, named))}"
    console.say_line(console.look.signed("ask", f"{text}  next: limnos config unset {one_line(named[0])}"))


def _store(console: Console, name: str, command: str) -> Secrets:
    if may_be_key(name):
        fix = f"limnos secrets {command} NAME, then type the key when it is asked for"
        raise UsageError("the name looks like a key, and a key is never an argument", fix)
    return Secrets(console.environment.home)


def _ending(store: Secrets, name: str) -> str:
    return f"{one_line(name)} is set, ending in {store.last_four(name)}"


def _using(console: Console, name: str) -> str:
    named = _named(console, name)
    return f", used by {', '.join(map(one_line, named))}" if named else ""


def _named(console: Console, name: str) -> list[str]:
    """The settings that name a secret; none when they cannot be read, which other commands say."""
    try:
        return references(load(console.environment)).get(f"secret:{name}", [])
    except SettingsError:
        return []


FUNCTIONS = {
    "set": set_secret,
    "list": list_secrets,
    "rotate": rotate,
    "allow": allow,
    "remove": remove,
}
