"""A keyring for tests: a backend as the library defines one, which keeps its values in memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError, PasswordSetError


class InMemory(KeyringBackend):
    """Works as a real one does, errors included."""

    priority = 5  # type: ignore[assignment]

    def __init__(self, *, locked: bool = False) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = locked

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.locked:
            raise PasswordSetError("locked")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise PasswordDeleteError("not there")
        del self.kept[service, username]


class Silent(InMemory):
    """Waits for a person who is not there, until the test ends."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.ended.wait(20)
        return None


class Plain(InMemory):
    """A backend that the library does not recommend."""

    priority = 0.5  # type: ignore[assignment]


@contextmanager
def using(backend: KeyringBackend) -> Iterator[KeyringBackend]:
    """Make `backend` the keyring of this process for a while."""
    before = keyring.get_keyring()
    keyring.set_keyring(backend)
    try:
        yield backend
    finally:
        keyring.set_keyring(before)
