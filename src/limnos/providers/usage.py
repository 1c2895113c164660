"""A rough count of what a request holds, to notice a server that reads only a part of it."""

from limnos.kernel.messages import Message, text_of
from limnos.kernel.model import Request

# o200k has 4.3 bytes of UTF-8 a token in English and in Chinese prose, 3.3 in code.
_BYTES_PER_TOKEN = 4.5


def rough_tokens(request: Request) -> int:
    """At least as many tokens as the texts of `request` surely have; tool schemas are left out."""
    return int(sum(_size(message) for message in request.messages) / _BYTES_PER_TOKEN)


def _size(message: Message) -> int:
    parts = message.result.parts if message.result else message.parts
    return len(text_of(parts).encode("utf-8", "replace")) + sum(len(call.raw) for call in message.calls)
