"""URLs as texts for people and as targets of a connection."""

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, urlsplit

from limnos import lazy
from limnos.egress.errors import BadAddressError

if TYPE_CHECKING:
    import httpcore2

# What may stand in a path or query as it is (RFC 3986); `%` because the person has escaped it already.
_UNQUOTED = "/?:@!$&'()*+,;=-._~%"
_PORTS = {"http": 80, "https": 443}


def split(url: str) -> SplitResult:
    """The parts of an http or https URL that has a host. Raises BadAddressError."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
        url.encode()  # half of a surrogate pair is no character
    except ValueError:
        raise BadAddressError("(unreadable address)", "is no URL", "write http://host:port/path") from None
    if not usable:
        raise BadAddressError(
            parts.hostname or "(no host)", "is no http or https URL", "write http://host:port/path"
        )
    return parts


def target(url: str) -> str:
    """`host:port` of `url`: what an error names. User name, password, path and query are left out."""
    try:
        parts = split(url)
    except BadAddressError as error:
        return error.target
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port or _PORTS[parts.scheme]}"


def place_of(parts: SplitResult) -> "httpcore2.URL":
    """Where a request goes. Raises BadAddressError for a host that no name server can know."""
    path = quote(parts.path or "/", safe=_UNQUOTED)
    query = f"?{quote(parts.query, safe=_UNQUOTED)}" if parts.query else ""
    return lazy.httpcore2.URL(
        scheme=parts.scheme, host=_ascii_host(parts), port=parts.port, target=path + query
    )


def host_header(parts: SplitResult) -> str:
    """The value of `Host`: without the port where it is the usual one."""
    host = _ascii_host(parts)
    shown = f"[{host}]" if ":" in host else host
    return shown if parts.port in (None, _PORTS[parts.scheme]) else f"{shown}:{parts.port}"


def _ascii_host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        raise BadAddressError(host, "is no name of a server", "correct the address") from None


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine without asking a name server."""
    host = split(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
