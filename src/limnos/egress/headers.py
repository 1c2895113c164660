"""Headers of a request, as bytes that mean one thing to every server."""

import re
from collections.abc import Mapping

from limnos.egress.errors import BadHeaderError
from limnos.sdk.expression import Expression

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE = Expression(r"[\x00-\x08\x0a-\x1f\x7f\ud800-\udfff]")
# They say where a message ends: a second opinion makes the next request part of this one.
_FRAMING = ("content-length", "transfer-encoding")


def encoded(where: str, own: Mapping[str, str], given: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """`own` and `given` together, where a given one wins; `where` is for the error.

    Raises BadHeaderError for a name or value that cannot be sent, and for one that says how long the body is.
    """
    more = {name.lower(): _sendable(where, name, value) for name, value in given.items()}
    return [(name.encode(), value.encode()) for name, value in {**own, **more}.items()]


def _sendable(where: str, name: str, value: str) -> str:
    what = f"the header {name[:40]!r}"
    if not _NAME.fullmatch(name):
        raise BadHeaderError(where, f"{what} has a name that no header can have", "correct its name")
    if name.lower() in _FRAMING:
        raise BadHeaderError(where, f"{what} is set by limnos itself", "leave it out")
    if _UNSENDABLE.search(value):
        fault = f"{what} holds a line end or another character that cannot be sent"
        raise BadHeaderError(where, fault, "correct its value")
    return value.strip()
