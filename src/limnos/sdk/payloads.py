"""Texts and objects that travel in a frame, or through the arena when they are large."""

import base64
import json
from collections.abc import Mapping
from typing import Any, cast

from limnos.kernel.arguments import ParseFailure, parse_json
from limnos.sdk.wire import Wire
from limnos.wire.arena import Window
from limnos.wire.methods import INLINE

_PIECE = 1 << 18


class Payloads:
    """The payloads of one wire."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._window: Window | None = None

    @property
    def shared(self) -> bool:
        """Whether there is an arena."""
        return self._window is not None

    def attach(self, arena: Mapping[str, int] | None) -> None:
        """Use the arena that limnos named, if it did."""
        if arena is not None:
            self._window = Window.attach(arena["descriptor"], arena["size"])

    def close(self) -> None:
        """Unmap the arena; again is fine."""
        if self._window is not None:
            self._window.close()

    def value(self, given: Mapping[str, Any], name: str) -> dict[str, Any]:
        """The object `name` of parameters. Raises TypeError for what is none."""
        at = given.get(f"{name}_at")
        if at is None or self._window is None:
            return cast("dict[str, Any]", given.get(name, {}))
        text = self._window.read(at).decode()
        value = parse_json(text, most=len(text))
        if isinstance(value, ParseFailure):
            raise TypeError(f"{name} in the arena is no JSON object: {value.detail}")
        if not isinstance(value, dict):
            raise TypeError(f"{name} in the arena is no JSON object")
        return cast("dict[str, Any]", value)

    def filled(self, record: dict[str, Any], name: str, value: str | Mapping[str, Any]) -> dict[str, Any]:
        """`record` with `value` as its field `name`, or with the range of the arena that it is written to.

        Raises `wire.RefusedError` when the arena is full.
        """
        if self._window is None or not _might_be_large(value):
            return {**record, name: value}
        if isinstance(value, str) and value.isascii():
            return {**record, f"{name}_at": self._written_in_pieces(value)}
        data = value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode()
        if len(data) > INLINE:
            return {**record, f"{name}_at": self.written(data)}
        return {**record, name: value}

    def with_bytes(self, record: dict[str, Any], name: str, data: bytes) -> dict[str, Any]:
        """`record` with bytes as its field `name`: Base64, or a range of the arena. Raises as `filled`."""
        if self._window is not None and len(data) > INLINE // 2:
            return {**record, f"{name}_at": self.written(data)}
        return {**record, name: base64.b64encode(data).decode()}

    def written(self, data: bytes) -> dict[str, int]:
        """The range of the arena that now holds `data`; it is given back with the answer that names it."""
        assert self._window is not None
        return self._window.write(self._wire.request("arena.lease", size=len(data)), data)

    def _written_in_pieces(self, text: str) -> dict[str, int]:
        """As `written` for ASCII, in pieces that stay in the processor's cache: no second copy in memory."""
        assert self._window is not None
        at: dict[str, int] = self._wire.request("arena.lease", size=len(text))
        with self._window.view(at) as room:
            for begin in range(0, len(text), _PIECE):
                piece = text[begin : begin + _PIECE].encode()
                room[begin : begin + len(piece)] = piece
        return at


def _might_be_large(value: str | Mapping[str, Any]) -> bool:
    """False for most texts, without encoding them: a character takes one to four bytes."""
    if not isinstance(value, str):
        return True
    return len(value) > INLINE if value.isascii() else len(value) * 4 > INLINE
