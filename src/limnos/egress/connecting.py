"""Why no connection came about, in words that say what to do."""

import ssl

from limnos.egress.errors import ConnectFailedError, UntrustedError


def connect_error(where: str, error: Exception) -> ConnectFailedError:
    """The error for `error` of the HTTP client, which carries the one of the network as its argument."""
    cause = error.args[0] if error.args else None
    if isinstance(cause, ssl.SSLCertVerificationError):
        fix = "correct the address, or have this machine trust who signed the certificate"
        return UntrustedError(where, f"its TLS certificate does not hold: {cause.verify_message}", fix)
    if isinstance(cause, ssl.SSLError):
        what = "speaks no TLS, or none that this machine understands"
        return UntrustedError(where, what, "write http:// if it has no TLS, or correct the port")
    return ConnectFailedError(where, "no connection", "start the server or correct the address")
