"""Secrets in one file that only its owner can read. Nothing else may hold them."""

import re
from pathlib import Path

from limnos import lazy
from limnos.kernel.errors import SettingsError, UsageError
from limnos.sdk.regular import read_regular
from limnos.store.whole import storage_error, write_whole

_MOST_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Secrets:
    """`LIMNOS_HOME/secrets.toml`, mode 0600."""

    def __init__(self, home: Path) -> None:
        self._path = home / "secrets.toml"

    def names(self) -> list[str]:
        """The names that are set, sorted."""
        return sorted(self._read())

    def get(self, name: str) -> str | None:
        """The value of `name`, if set. Raises SettingsError when others could read the file."""
        return self._read().get(name)

    def last_four(self, name: str) -> str:
        """What may be shown of a value."""
        value = self._read().get(name, "")
        return value[-4:] if len(value) > 8 else "****"

    def set(self, name: str, value: str) -> None:
        """Store `value` under `name`. Raises UsageError for a name or value that cannot be one."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for a secret", "use letters, digits, - and _")
        value = value.strip()
        if not value or any(not character.isprintable() for character in value):
            raise UsageError("the value is empty or holds control characters", "give the key on one line")
        self._write(self._read() | {name: value})

    def remove(self, name: str) -> bool:
        """Forget `name`; False when it was not set."""
        values = self._read()
        if name not in values:
            return False
        del values[name]
        self._write(values)
        return True

    def _read(self) -> dict[str, str]:
        try:
            if self._path.stat().st_mode & 0o077:
                raise SettingsError(f"others can read {self._path}", f"chmod 600 {self._path}")
            table = lazy.tomllib.loads(read_regular(self._path, _MOST_BYTES).decode())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (ValueError, RecursionError):
            raise SettingsError(
                f"{self._path} is no valid TOML", "mend it, or remove it and set the keys again"
            ) from None
        except OSError as error:
            raise storage_error(self._path, error, "try again") from None
        return {name: value for name, value in table.items() if isinstance(value, str)}

    def _write(self, values: dict[str, str]) -> None:
        text: str = lazy.tomlkit.dumps(values)  # pyright: ignore[reportUnknownMemberType]
        try:
            write_whole(self._path, text.encode())
        except OSError as error:
            raise storage_error(self._path, error, "try again") from None
