"""What can go wrong on the way out. No exception of the HTTP client leaves this folder."""

from limnos.kernel.errors import LimnosError


class EgressError(LimnosError):
    """A request failed below HTTP; `target` is `host:port`, never with a user name or a key in it."""

    def __init__(self, target: str, what: str, fix: str) -> None:
        super().__init__(f"{target}: {what}", fix)
        self.target = target


class BadAddressError(EgressError):
    """The URL can't be used: no host, another scheme than http and https, or a redirect that may not be."""


class ConnectFailedError(EgressError):
    """Nothing listens there, or the name does not resolve."""


class UntrustedError(ConnectFailedError):
    """TLS did not come about: a certificate that does not hold, or a server that does not speak it."""


class BadHeaderError(EgressError):
    """A header that was asked for can't be sent; its value is never told."""


class BusyError(EgressError):
    """As many requests run as may run at once, and none ended in time."""


class TimedOutError(EgressError):
    """A time limit passed while connecting, sending or waiting for bytes."""


class BrokenError(EgressError):
    """The connection was lost or the other side does not speak HTTP."""


class TooLargeError(EgressError):
    """The answer is larger than the bound of its kind."""


class StatusError(EgressError):
    """The server answered with a status that has no use here."""

    def __init__(self, target: str, status: int) -> None:
        super().__init__(target, f"answered with status {status}", "check the address")
        self.status = status
