"""Hosts of addresses in ASCII, so that letters that only look like others are seen.

Close to UTS 46 as browsers and curl apply it (ß and ς stay letters of their own), and for showing only:
what goes out is checked and written by the guard.
"""

import re
import unicodedata
from urllib.parse import unquote_to_bytes

from limnos.sdk.expression import Expression

_END = r"\s/:?#@'\"`<>()\[\]{}|;&,\\"
_WEB = "com|org|net|info|biz|edu|gov|io|dev|app|test|example|cn|de|fr|uk|ru|jp|eu|cloud|online|site|xyz|top"
_HOST = Expression(
    rf"(?P<before>://(?:[^\s/?#]*@)?|(?<=[^\s@/\\])@)(?P<host>[^{_END}]+)"
    rf"|(?<![^\s'\"=])(?P<bare>[^{_END}=]+[.。．｡](?:{_WEB})\.?)(?![^\s/:?#'\"|;&,)])"
)
_DOTS = str.maketrans("。．｡", "...")
_ENCODED = Expression(r"%[0-9A-Fa-f]{2}")
_BREAKS = frozenset("/\\?#@:%[] ")  # a character that folds to one of these would end the host


def hosts_in_ascii(text: str) -> str:
    """`text` with every host of an address that is not plain ASCII folded or in punycode.

    So are hosts that are percent-encoded, and words without a scheme that end like a host of the web.
    """
    if text.isascii() and not ("%" in text and "://" in text):
        return text
    return _HOST.sub(_in_ascii, text)


def _in_ascii(found: re.Match[str]) -> str:
    if found["bare"]:
        return _ascii(found["bare"])
    host = found["host"]
    return found["before"] + _ascii(_decoded(host) if "://" in found["before"] else host)


def _decoded(host: str) -> str:
    if not _ENCODED.search(host):
        return host
    try:
        plain = unquote_to_bytes(host).decode()
    except UnicodeDecodeError:
        return host
    return plain if plain.isprintable() and not _BREAKS & set(plain) else host


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    folded = "".join(map(_folded, host.translate(_DOTS)))
    labels = unicodedata.normalize("NFC", folded).split(".")
    return ".".join(_label(label) for label in labels)


def _folded(character: str) -> str:
    """One character as a name server would see it; letter by letter, since a sigma at an end is none here."""
    if character.isascii():
        return character.lower()
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", character).lower())
    return f"\\u{ord(character):04x}" if _BREAKS & set(plain) else plain


def _label(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")
