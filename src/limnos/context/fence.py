"""A fence around text that is data: its tag is new for each text, so the text cannot close it."""

import hashlib
import hmac

TAG_BITS = 128


def fenced(text: str, label: str, key: bytes) -> str:
    """`text` between two lines that name a tag of 128 bits.

    The tag depends on the text and on `key`, which nobody outside of this process has seen: whoever wrote the
    text cannot have known it, also when the text holds fences. A heuristic for the model, no boundary.
    """
    tag = tag_of(text, label, key)
    return f"<<{label} {tag}\n{text}\n{label} {tag}>>"


def tag_of(text: str, label: str, key: bytes) -> str:
    """The tag of `text`: 32 hexadecimal digits that do not occur in it."""
    number = 0
    while True:
        told = f"{number}\0{label}\0{text}".encode("utf-8", "surrogatepass")
        tag = hmac.new(key, told, hashlib.sha256).hexdigest()[: TAG_BITS // 4]
        if tag not in text:
            return tag
        number += 1
