"""`limnos secrets`: keys, kept in the home and never shown."""

from pathlib import Path
from typing import Annotated

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.private import may_be_key
from limnos.frontends.cli.secret_input import read_secret
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.store.secrets import Secrets

_FIX = "limnos secrets set NAME, then type the key when it is asked for"
_Name = Annotated[str, Argument(metavar="NAME", help="the name of the secret")]


def set_secret(
    console: Console,
    name: _Name,
    key_file: Annotated[
        Path | None, Option("--key-file", metavar="FILE", help="read the value from this file")
    ] = None,
) -> None:
    """Store a value from --key-file, from stdin, or typed without echo."""
    if may_be_key(name):
        raise UsageError("the name looks like a key, and a key is never an argument", _FIX)
    store = Secrets(console.environment.home)
    store.set(name, read_secret(console, name, key_file))
    ending = f"ending in {store.last_four(name)}"
    console.done(
        f"{one_line(name)} is set, {ending}", f"limnos config set providers.{name}.api_key secret:{name}"
    )


def list_secrets(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> None:
    """Show the names, and the last four characters of the values."""
    store = Secrets(console.environment.home)
    if as_json:
        for name in store.names():
            console.record({"name": name, "last_four": store.last_four(name)})
        return
    console.rows(("ends in", "name"), [(store.last_four(name), name) for name in store.names()])


def remove(console: Console, name: _Name) -> None:
    """Forget a value."""
    if not Secrets(console.environment.home).remove(name):
        text = "no secret has that name; nothing was removed  next: limnos secrets list"
        console.say_line(console.look.signed("idle", text))
        return
    console.done(f"removed {one_line(name)}", "limnos secrets list")


FUNCTIONS = {"set": set_secret, "list": list_secrets, "remove": remove}
