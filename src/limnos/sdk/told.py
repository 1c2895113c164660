"""What limnos tells a plugin at the start, and how the plugin can ask it."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol


class Kernel(Protocol):
    """limnos, as a plugin can ask it; see `limnos.wire.methods` for what there is."""

    def request(self, method: str, *, timeout_s: float = ..., **params: Any) -> Any:
        """The answer to a request. Raises `limnos.sdk.wire.RefusedError`."""
        ...

    def notify(self, method: str, **params: Any) -> None:
        """Tell limnos something."""
        ...


class Bulk(Protocol):
    """Puts large payloads where they go."""

    def with_bytes(self, record: dict[str, Any], name: str, data: bytes) -> dict[str, Any]:
        """`record` with bytes as its field `name`: Base64, or a range of the arena."""
        ...


class Told(NamedTuple):
    """What `initialize` says. `provides` are the facilities of the manifest.

    `hidden` are folders that no tool may show.
    """

    kernel: Kernel
    payloads: Bulk
    name: str
    data: str
    settings: Mapping[str, Any] = {}
    hidden: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
