"""Who a connection is: the kernel's own table of tokens says so, never what the other side claims."""

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["person", "plugin"]
NONCE_SECONDS: Final = 300.0
MOST_NONCES: Final = 1_000


class Role(NamedTuple):
    """A person at a terminal, or a plugin of this name."""

    kind: Kind
    name: str = ""

    def __str__(self) -> str:
        return f"plugin {self.name}" if self.kind == "plugin" else "person"


class Roles:
    """The tokens of this start and what each of them is worth."""

    def __init__(self, person: str) -> None:
        self._table = {_digest(person): Role("person")}

    def issue(self, plugin: str) -> str:
        """A token for a plugin; what it had before counts no more."""
        self.revoke(plugin)
        token = secrets.token_hex(32)
        self._table[_digest(token)] = Role("plugin", plugin)
        return token

    def revoke(self, plugin: str) -> None:
        """The plugin's token counts no more."""
        role = Role("plugin", plugin)
        self._table = {digest: known for digest, known in self._table.items() if known != role}

    def of(self, token: str) -> Role | None:
        """The role that a token stands for; None for one that is not of this start."""
        return self._table.get(_digest(token))


def _digest(token: str) -> bytes:
    """What is looked up instead of the token, so that the time it takes tells nothing of it."""
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


class Nonces:
    """One-time numbers that go to persons with a question, and come back with the answer."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._open: OrderedDict[str, tuple[str, str, float]] = OrderedDict()

    def issue(self, session: str, approval: str) -> str:
        """A number for this question, good for five minutes and one answer."""
        nonce = secrets.token_hex(16)
        self._open[nonce] = (session, approval, self._now() + NONCE_SECONDS)
        while len(self._open) > MOST_NONCES:
            self._open.popitem(last=False)
        return nonce

    def take(self, nonce: str, session: str, approval: str) -> bool:
        """Whether the number is good for this question; it is used up either way."""
        found = self._open.pop(nonce, None)
        return found is not None and found[:2] == (session, approval) and self._now() < found[2]
