"""A server's TLS with a certificate that it signed itself."""

import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple


class SelfSigned(NamedTuple):
    """`server` is the server's context; `trusting` is that of a client who trusts this one certificate."""

    server: ssl.SSLContext
    trusting: ssl.SSLContext


def self_signed(folder: Path, address: str) -> SelfSigned:
    """A fresh certificate for a numeric `address`, made in `folder`."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", "/CN=other.test", "-addext", f"subjectAltName=IP:{address}", "-days", "1",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True, timeout=20,
    )  # fmt: skip
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(certificate, key)
    return SelfSigned(server, ssl.create_default_context(cafile=certificate))
