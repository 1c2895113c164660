"""Values in the keyring of the system, by the library `keyring`, which is an extra: `limnos[keyring]`."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from limnos import lazy
from limnos.kernel.errors import SettingsError

T = TypeVar("T")
_RECOMMENDED = 1  # the priority from which the library itself recommends a backend; below are plain files
_INSTALL = "pip install 'limnos[keyring]'"


class Keyring:
    """Implements `secrets.Vault`. Every home has entries of its own.

    A keyring may ask a person to unlock it: an answer is waited for `seconds`. All methods raise
    SettingsError when the library is missing, when no backend can be used, or when the keyring refuses.
    """

    def __init__(self, home: Path, seconds: float = 60.0) -> None:
        self._service = f"limnos {home}"
        self._seconds = seconds
        self._back = f"or remove [keyring] from {home / 'secrets.toml'} and set the secrets again"

    def get(self, name: str) -> str | None:
        """See `Vault`."""
        return self._asked(lambda backend: backend.get_password(self._service, name))

    def set(self, name: str, value: str) -> None:
        """See `Vault`."""
        self._asked(lambda backend: backend.set_password(self._service, name, value))

    def remove(self, name: str) -> None:
        """See `Vault`."""

        def forget(backend: Any) -> None:
            if backend.get_password(self._service, name) is not None:
                backend.delete_password(self._service, name)

        self._asked(forget)

    def _asked(self, question: Callable[[Any], T]) -> T:
        backend = self._backend()
        answers: list[T] = []
        refusals: list[Exception] = []

        refused: type[Exception] = cast("Any", lazy.keyring).errors.KeyringError

        def ask() -> None:
            try:
                answers.append(question(backend))
            except (
                refused,
                OSError,
                RuntimeError,
                ValueError,
                LookupError,
            ) as error:
                refusals.append(error)

        asking = threading.Thread(target=ask, daemon=True, name="keyring")
        asking.start()
        asking.join(self._seconds)
        if answers:
            return answers[0]
        late = f"it did not answer within {self._seconds:g} s" if asking.is_alive() else "it failed"
        why = type(refusals[0]).__name__ if refusals else late
        raise SettingsError(f"the keyring refused: {why}", f"unlock it and try again, {self._back}")

    def _backend(self) -> Any:
        try:
            backend = lazy.keyring.get_keyring()
        except ImportError:
            what = "secrets.toml says [keyring], and the library for it is not installed"
            raise SettingsError(what, f"{_INSTALL}, {self._back}") from None
        if backend.priority < _RECOMMENDED:
            what = f"this machine has no keyring that can be used, only {type(backend).__module__}"
            raise SettingsError(what, f"start a keyring such as gnome-keyring, {self._back}")
        return backend
