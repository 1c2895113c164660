"""Request bodies: what the last request had already is neither encoded nor counted again."""

import json
from collections.abc import Mapping
from operator import is_
from typing import Any, NamedTuple

from limnos.kernel.messages import Message, text_of
from limnos.kernel.model import Request, ToolSpec
from limnos.providers.openai_codec import Dialect, encode_messages, encode_tools
from limnos.providers.surrogates import whole

# o200k has 4.3 bytes of UTF-8 a token in English and in Chinese prose, 3.3 in code.
_BYTES_PER_TOKEN = 4.5


class Body(NamedTuple):
    """A request as bytes. Its texts surely have `rough_tokens`; tool schemas are left out of that count."""

    data: bytes
    rough_tokens: int


class BodyWriter:
    """Writes the bodies of one route. The messages with which the last request began are kept encoded."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._messages: tuple[Message, ...] = ()
        self._encoded: list[bytes] = []
        self._said: list[int] = []
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def write(self, fields: Mapping[str, Any], request: Request) -> Body:
        """The JSON of a request: tools and messages first, so that equal beginnings are equal bytes."""
        self._encode(request.messages)
        parts = [b'"messages":[' + b",".join(self._encoded) + b"]"]
        if request.tools:
            parts.insert(0, b'"tools":' + self._encoded_tools(request.tools))
        rest = _json(dict(fields))[1:-1]
        data = b"{" + b",".join([*parts, rest] if rest else parts) + b"}"
        return Body(data, int(sum(self._said) / _BYTES_PER_TOKEN))

    def _encode(self, messages: tuple[Message, ...]) -> None:
        """Bring what is kept to `messages`; what is the same at the same place is not touched."""
        kept = self._messages
        others = (place for place, alike in enumerate(map(is_, kept, messages)) if not alike)
        differs = (place for place in others if not _same(kept[place], messages[place]))
        same = next(differs, min(len(kept), len(messages)))
        fresh = messages[same:]
        encoded = [_json(encode_messages((message,), self._dialect)[0]) for message in fresh]
        said = [_said_bytes(message) for message in fresh]
        self._messages, self._encoded[same:], self._said[same:] = messages, encoded, said

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if len(self._tools[0]) != len(tools) or not all(map(_same_spec, self._tools[0], tools)):
            self._tools = (tools, _json(encode_tools(tools)))
        return self._tools[1]


def _same(old: Message, new: Message) -> bool:
    """Whether two objects are the same bytes: arguments that are equal need not be, as 1 and true are."""
    return not (old.calls or new.calls) and old == new


def _same_spec(old: ToolSpec, new: ToolSpec) -> bool:
    return old is new or (old.parameters is new.parameters and old == new)


def _said_bytes(message: Message) -> int:
    parts = message.result.parts if message.result else message.parts
    return len(text_of(parts).encode("utf-8", "replace")) + sum(len(call.raw) for call in message.calls)


def _json(value: Any) -> bytes:
    return whole(json.dumps(value, ensure_ascii=False)).encode()
