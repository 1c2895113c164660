"""A key in memory: it is sent, and never shown."""

from typing import Any

from limnos.kernel.errors import SettingsError

_SHOWN = 4
_SHORTEST_SHOWN = 12


class Secret:
    """A key. It shows itself only to `reveal`; its repr and text have at most the last four characters.

    `source` says where it came from, for messages: `OPENAI_API_KEY`, `secrets.toml`. Raises SettingsError
    for a key that no header can carry: blanks, control characters, anything outside printable ASCII.
    """

    __slots__ = ("_value", "source")

    def __init__(self, value: str = "", source: str = "the settings") -> None:
        bad = next((place for place, sign in enumerate(value) if not "\x21" <= sign <= "\x7e"), None)
        if bad is not None:
            what = (
                "is blank"
                if not value.strip()
                else f"has a blank or unprintable character at place {bad + 1}"
            )
            raise SettingsError(f"the key from {source} {what}", "copy the key again, without line ends")
        self._value = value
        self.source = source

    def reveal(self) -> str:
        """The key itself, for the one header that carries it."""
        return self._value

    def mask(self, text: str) -> str:
        """`text` with every occurrence of the key masked: servers like to quote it."""
        return text.replace(self._value, str(self)) if self._value else text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __str__(self) -> str:
        if not self._value:
            return "(no key)"
        return f"…{self._value[-_SHOWN:]}" if len(self._value) >= _SHORTEST_SHOWN else "…"

    def __repr__(self) -> str:
        return f"Secret({self}, from {self.source})"

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not written down")
