"""Which values are secret in a home, and what keeps them out of logs, model context, screens and exports."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar, cast

from limnos.agent.settings import Environment, Settings, load
from limnos.kernel.errors import LimnosError
from limnos.kernel.events import Event
from limnos.kernel.masking import Mask
from limnos.sdk.scan import SHORTEST, Scanner
from limnos.sdk.spellings import spellings
from limnos.store.secrets import Secrets

E = TypeVar("E", bound=Event)
_KINDS = ("env:", "secret:")


def references(settings: Settings) -> dict[str, list[str]]:
    """The `env:NAME` and `secret:NAME` that settings name, each with the settings that name it."""
    found: dict[str, list[str]] = {}
    for provider, table in settings.providers.items():
        for where, text in _texts(table, f"providers.{provider}"):
            if text.startswith(_KINDS):
                found.setdefault(text, []).append(where)
    return found


def configured_values(environment: Environment, settings: Settings) -> list[str]:
    """All values that are secret: those of the store, and variables that settings name as keys.

    What also stands openly in the settings (the name of a server given as the key of one that needs none)
    is no secret. Raises SettingsError when the store cannot be read: then nothing could be promised.
    """
    named = (name for kind, _, name in (one.partition(":") for one in references(settings)) if kind == "env")
    values = [*Secrets(environment.home).values().values(), *map(environment.text, named)]
    plain = list(_plain(settings))
    return [
        value for value in dict.fromkeys(values) if len(value) >= SHORTEST and not _stands_in(value, plain)
    ]


def mask_of(environment: Environment, settings: Settings) -> Mask:
    """What every event of a session goes through. Raises SettingsError as `configured_values` does.

    Values that are set or rotated while the session is open are hidden from then on, the old ones as well.
    """
    return _FreshMask(environment, settings)


class _FreshMask(Mask):
    def __init__(self, environment: Environment, settings: Settings) -> None:
        self._environment = environment
        self._settings = settings
        self._seen = self._stamp()
        super().__init__(_forms(configured_values(environment, settings)))

    def __call__(self, event: E) -> E:
        """See `Mask`."""
        self._refresh()
        return super().__call__(event)

    def text(self, text: str) -> str:
        """See `Mask`."""
        self._refresh()
        return super().text(text)

    def _refresh(self) -> None:
        if (stamp := self._stamp()) == self._seen:
            return
        with suppress(LimnosError):  # a store that cannot be read now is read at the next event
            self.add(_forms(configured_values(self._environment, self._settings)))
            self._seen = stamp

    def _stamp(self) -> tuple[int, int]:
        try:
            info = os.stat(self._environment.home / "secrets.toml")
        except OSError:
            return (0, 0)
        return (info.st_mtime_ns, info.st_ino)


def scanner_of(environment: Environment, settings: Settings) -> Scanner:
    """The scanner for what leaves the house. Raises SettingsError as `configured_values` does."""
    return Scanner(configured_values(environment, settings))


def values_at_hand(environment: Environment) -> list[str]:
    """The values that can be had at once, for errors: no keyring is asked and nothing is raised."""
    values: list[str] = []
    with suppress(LimnosError):
        values += Secrets(environment.home).file_values()
    with suppress(LimnosError):
        names = (one.partition(":") for one in references(load(environment)))
        values += [environment.text(name) for kind, _, name in names if kind == "env"]
    return [value for value in values if len(value) >= SHORTEST]


def hide_at_hand(environment: Environment, text: str) -> str:
    """`text` without the values that can be had at once."""
    return _masking(values_at_hand(environment)).text(text)


def _masking(values: list[str]) -> Mask:
    return Mask(_forms(values))


def _forms(values: list[str]) -> Iterator[str]:
    return (form for value in values for form in spellings(value))


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, Any]", value).items():
            yield from _texts(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner, where)


def _plain(settings: Settings) -> Iterator[str]:
    """The texts of settings that everybody sees."""
    yield settings.model
    for provider, table in settings.providers.items():
        yield provider
        yield from (str(table[name]) for name in ("base_url", "model") if name in table)


def _stands_in(value: str, texts: list[str]) -> bool:
    return any(value in text for text in texts)
