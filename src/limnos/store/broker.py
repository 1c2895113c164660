"""The one way to the value of a secret: who needs one names it, and says what for.

A key has one purpose: its first use binds it to that destination, and `[uses]` of secrets.toml says so. A
setting that is changed to lead elsewhere, or a second tool that names the same key, gets nothing before a
person allows it.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from limnos.kernel.errors import SettingsError
from limnos.store.secrets import Secrets


class Broker:
    """Gives out values. `variable` gives the environment variable of a name, or the empty text."""

    def __init__(self, secrets: Secrets, variable: Callable[[str], str]) -> None:
        self._secrets = secrets
        self._variable = variable

    def value(self, reference: str, purpose: str) -> str:
        """What `secret:NAME` or `env:NAME` stands for; to be put into what is sent, and nowhere else.

        `purpose` is one destination: a host, or the name of a use. Raises SettingsError when there is no
        such value or it is bound to another purpose; no error repeats what may be a key.
        """
        value = self._found(reference)
        allowed = self._secrets.bind(reference, purpose)
        if purpose not in allowed:
            raise SettingsError(
                f"{reference} is for {', '.join(allowed)}, and now {purpose} is to get it",
                f"give {purpose} a key of its own, or: limnos secrets allow {reference} {purpose}",
            )
        return value

    def _found(self, reference: str) -> str:
        kind, _, name = reference.partition(":")
        if kind == "env":
            value = self._variable(name)
            if not value:
                what = f"the variable {name} is not set or empty"
                raise SettingsError(what, f"export {name}=..., or limnos secrets set")
            return value
        if kind == "secret":
            value = self._secrets.get(name) or ""
            if not value:
                raise SettingsError(f"no secret is called {name}", f"limnos secrets set {name}")
            return value
        what = "a key stands in the settings in plain text"
        raise SettingsError(what, "write env:NAME or secret:NAME instead")


def host_of(address: str) -> str:
    """The purpose of what is sent to an address: its host. Raises SettingsError when it has none."""
    try:
        host = urlsplit(address.strip()).hostname
    except ValueError:
        host = None
    if not host:
        raise SettingsError("a key is to be sent to an address without a host", "write https://HOST/...")
    return host.rstrip(".")
