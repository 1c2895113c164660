"""URLs as texts for people and as targets of a connection."""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from limnos.egress.errors import BadAddressError

_PORTS = {"http": 80, "https": 443}


def split(url: str) -> SplitResult:
    """The parts of an http or https URL that has a host. Raises BadAddressError."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
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


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine without asking a name server."""
    host = split(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
