import pytest

from limnos.egress.address import host_header, is_loopback, split, target
from limnos.egress.errors import BadAddressError


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://h/path?q=1", "h:80"),
        ("https://user:pw@h.test/x", "h.test:443"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://H:1", "h:1"),
        ("http://[", "(unreadable address)"),
        ("nonsense", "(no host)"),
    ],
)
def test_a_target_is_host_and_port_without_anything_secret(url: str, shown: str) -> None:
    assert target(url) == shown


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:1", True),
        ("http://127.8.9.1", True),
        ("http://[::1]", True),
        ("http://localhost", True),
        ("http://localhost.evil.test", False),
        ("http://127.0.0.1.evil.test", False),
        ("http://10.0.0.1", False),
        ("http://user@10.0.0.1:80", False),
        ("http://127.0.0.1@10.0.0.1", False),
    ],
)
def test_loopback_is_decided_by_the_address_and_never_by_a_lookup(url: str, here: bool) -> None:
    assert is_loopback(url) is here


def test_an_address_that_is_none_is_no_loopback() -> None:
    with pytest.raises(BadAddressError):
        is_loopback("ftp://localhost")


@pytest.mark.parametrize(
    ("url", "header"),
    [
        ("http://example.org:80/x", "example.org"),
        ("https://example.org:8443", "example.org:8443"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://b\u00fccher.example/", "xn--bcher-kva.example"),
    ],
)
def test_the_host_header_is_ascii_and_leaves_out_the_usual_port(url: str, header: str) -> None:
    assert host_header(split(url)) == header


def test_a_host_that_no_name_server_can_know_is_refused() -> None:
    with pytest.raises(BadAddressError):
        host_header(split("http://" + "\u00fc" * 64 + ".example/"))
