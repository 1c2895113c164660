"""Secrets: the values in one file that only its owner can read, or in the keyring of the system.

`LIMNOS_HOME/secrets.toml` holds `NAME = "value"`. With a table `[keyring]` in it new values go to the
keyring and the file lists their names. The table `[uses]` says what each secret may be used for.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from limnos import lazy
from limnos.kernel.errors import SettingsError, UsageError
from limnos.sdk.regular import read_regular
from limnos.store.keyring import Keyring
from limnos.store.locking import locked
from limnos.store.whole import storage_error, write_whole

FILE = "secrets.toml"
_MOST_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TABLES = ("keyring", "uses")
_LOCK_SECONDS = 10.0
_SET_FIRST = "limnos secrets list shows the names; limnos secrets set NAME stores a new one"


class Vault(Protocol):
    """A place for values outside the file. It may not show, log or copy one. All raise LimnosError."""

    def get(self, name: str) -> str | None:
        """The value of `name`, if there is one."""
        ...

    def set(self, name: str, value: str) -> None:
        """Store a value, in the place of an older one."""
        ...

    def remove(self, name: str) -> None:
        """Forget a value; nothing happens where there is none."""
        ...


class _Content(NamedTuple):
    """What the file says. `vaulted` names what lies in the keyring; None: the file has no `[keyring]`."""

    values: dict[str, str]
    vaulted: frozenset[str] | None
    uses: dict[str, tuple[str, ...]]


class Secrets:
    """The secrets of one home. `vault` takes new values even where the file has no `[keyring]`."""

    def __init__(self, home: Path, vault: Vault | None = None, lock_seconds: float = _LOCK_SECONDS) -> None:
        self._home = home
        self._path = home / FILE
        self._chosen = vault is not None
        self._vault = vault or Keyring(home)
        self._lock_seconds = lock_seconds

    def names(self) -> list[str]:
        """The names that are set, sorted."""
        content = self._read()
        return sorted({*content.values, *(content.vaulted or ())})

    def get(self, name: str) -> str | None:
        """The value of `name`, if set. Raises SettingsError when others could read the file."""
        return self._value(self._read(), name)

    def values(self) -> dict[str, str]:
        """All values by name, for those who keep them out of texts."""
        content = self._read()
        kept = {name: self._vault.get(name) for name in sorted(content.vaulted or ())}
        return content.values | {name: value for name, value in kept.items() if value}

    def file_values(self) -> list[str]:
        """The values that stand in the file; no keyring is asked."""
        return [*self._read().values.values()]

    def last_four(self, name: str) -> str:
        """What may be shown of a value."""
        value = self.get(name) or ""
        return value[-4:] if len(value) > 8 else "****"

    def set(self, name: str, value: str) -> None:
        """Store `value` under `name`. Raises UsageError for a name or value that cannot be one."""
        self._store(name, value, replace_only=False)

    def rotate(self, name: str, value: str) -> None:
        """Store a new value for a name that has one. Raises UsageError when it has none."""
        self._store(name, value, replace_only=True)

    def require(self, name: str) -> None:
        """Raise UsageError when no secret is called `name`; it may be a value that was typed by mistake."""
        if name not in self.names():
            raise UsageError("no secret has that name", _SET_FIRST)

    def remove(self, name: str) -> bool:
        """Forget `name` and what it was used for; False when it was not set."""
        with self._changing():
            content = self._read()
            vaulted = content.vaulted or frozenset()
            if name not in content.values and name not in vaulted:
                return False
            if name in vaulted:
                self._vault.remove(name)
            self._write(
                _Content(
                    {other: value for other, value in content.values.items() if other != name},
                    None if content.vaulted is None else vaulted - {name},
                    {other: uses for other, uses in content.uses.items() if other != f"secret:{name}"},
                )
            )
        return True

    def uses(self, reference: str) -> tuple[str, ...]:
        """What `secret:NAME` or `env:NAME` may be used for; empty before its first use."""
        return self._read().uses.get(reference, ())

    def bind(self, reference: str, purpose: str) -> tuple[str, ...]:
        """What `reference` may be used for; from now on that is `purpose` when it had no use yet."""
        return self.uses(reference) or self._with_use(reference, purpose, only_first=True)

    def allow(self, reference: str, purpose: str) -> None:
        """Let `reference` be used for `purpose` too."""
        self._with_use(reference, purpose, only_first=False)

    def _with_use(self, reference: str, purpose: str, *, only_first: bool) -> tuple[str, ...]:
        with self._changing():
            content = self._read()
            uses = content.uses.get(reference, ())
            if purpose in uses or (uses and only_first):
                return uses
            uses = (*uses, purpose)
            self._write(content._replace(uses=content.uses | {reference: uses}))
        return uses

    def _store(self, name: str, value: str, *, replace_only: bool) -> None:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for a secret", "use letters, digits, - and _")
        if name in _TABLES:
            raise UsageError(f"{name} is the name of a table of {FILE}", "choose another name")
        value = value.strip()
        if not value or any(not character.isprintable() for character in value):
            raise UsageError("the value is empty or holds control characters", "give the key on one line")
        with self._changing():
            content = self._read()
            vaulted = content.vaulted or frozenset[str]()
            if replace_only and name not in content.values and name not in vaulted:
                raise UsageError("no secret has that name", _SET_FIRST)
            if not self._chosen and content.vaulted is None:
                self._write(content._replace(values=content.values | {name: value}))
                return
            self._vault.set(name, value)
            others = {other: kept for other, kept in content.values.items() if other != name}
            self._write(content._replace(values=others, vaulted=vaulted | {name}))

    def _value(self, content: _Content, name: str) -> str | None:
        if name in (content.vaulted or ()):
            return self._vault.get(name)
        return content.values.get(name)

    def _changing(self) -> Any:
        return locked(self._home, FILE, self._lock_seconds)

    def _read(self) -> _Content:
        try:
            if self._path.stat().st_mode & 0o077:
                raise SettingsError(f"others can read {self._path}", f"chmod 600 {self._path}")
            table = lazy.tomllib.loads(read_regular(self._path, _MOST_BYTES).decode())
        except (FileNotFoundError, NotADirectoryError):
            return _Content({}, None, {})
        except (ValueError, RecursionError):
            raise SettingsError(
                f"{self._path} is no valid TOML", "mend it, or remove it and set the keys again"
            ) from None
        except OSError as error:
            raise storage_error(self._path, error, "try again") from None
        return _Content(
            {name: value for name, value in table.items() if isinstance(value, str)},
            frozenset(self._list(table["keyring"], "names")) if "keyring" in table else None,
            {name: self._list(table.get("uses"), name) for name in self._table(table.get("uses"))},
        )

    def _table(self, value: Any) -> Mapping[str, Any]:
        if value is None or isinstance(value, dict):
            return cast("Mapping[str, Any]", value or {})
        names = " and ".join(f"[{name}]" for name in _TABLES)
        raise SettingsError(f"{names} of {self._path} must be tables", "give that secret another name")

    def _list(self, table: Any, name: str) -> tuple[str, ...]:
        found: Any = self._table(table).get(name, [])
        if not isinstance(found, list):
            raise SettingsError(f"{name} of {self._path} is no list", f'write {name} = ["..."]')
        return tuple(str(one) for one in cast("list[Any]", found))

    def _write(self, content: _Content) -> None:
        table: dict[str, Any] = dict(content.values)
        if content.vaulted is not None:
            table["keyring"] = {"names": sorted(content.vaulted)}
        if content.uses:
            table["uses"] = {name: list(uses) for name, uses in sorted(content.uses.items())}
        text: str = lazy.tomlkit.dumps(table)  # pyright: ignore[reportUnknownMemberType]
        try:
            write_whole(self._path, text.encode())
        except OSError as error:
            raise storage_error(self._path, error, "try again") from None
