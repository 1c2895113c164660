"""Request bodies: what the last request had already is not encoded again."""

import json
from collections.abc import Mapping
from typing import Any

from limnos.kernel.messages import Message
from limnos.kernel.model import Request, ToolSpec
from limnos.providers.openai_codec import Dialect, encode_messages, encode_tools
from limnos.providers.text import whole


class BodyWriter:
    """Writes the bodies of one route. A message object that stays in the window is encoded once."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._messages: dict[int, tuple[Message, bytes]] = {}
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def write(self, fields: Mapping[str, Any], request: Request) -> bytes:
        """The JSON of a request: tools and messages first, so that equal beginnings are equal bytes."""
        parts = [b'"messages":[' + b",".join(self._encoded(request.messages)) + b"]"]
        if request.tools:
            parts.insert(0, b'"tools":' + self._encoded_tools(request.tools))
        rest = _json(dict(fields))[1:-1]
        return b"{" + b",".join([*parts, rest] if rest else parts) + b"}"

    def _encoded(self, messages: tuple[Message, ...]) -> list[bytes]:
        """Each message's JSON; keeps those of this request, the same objects, for the next one."""
        kept: dict[int, tuple[Message, bytes]] = {}
        for message in messages:
            known = self._messages.get(id(message))
            if known is None or known[0] is not message:
                known = (message, _json(encode_messages((message,), self._dialect)[0]))
            kept[id(message)] = known
        self._messages = kept
        return [kept[id(message)][1] for message in messages]

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._tools[0] != tools:
            self._tools = (tools, _json(encode_tools(tools)))
        return self._tools[1]


def _json(value: Any) -> bytes:
    return whole(json.dumps(value, ensure_ascii=False)).encode()
