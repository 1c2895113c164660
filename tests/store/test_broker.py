"""The one way to a value: named, for one purpose, and never shown."""

import traceback
from pathlib import Path

import pytest

from limnos.kernel.errors import SettingsError
from limnos.store.broker import Broker, host_of
from limnos.store.secrets import Secrets

VALUE = "k-" + "q7" * 12
REFERENCES = ["secret:mine", "env:MY_KEY"]


def _broker(home: Path) -> Broker:
    return Broker(Secrets(home), {"MY_KEY": VALUE, "EMPTY": ""}.get)  # type: ignore[arg-type]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Secrets(tmp_path).set("mine", VALUE)
    return tmp_path


@pytest.mark.parametrize("reference", REFERENCES)
def test_the_first_use_binds_a_key_also_after_a_restart(home: Path, reference: str) -> None:
    assert _broker(home).value(reference, "api.good.test") == VALUE
    assert _broker(home).value(reference, "api.good.test") == VALUE
    with pytest.raises(SettingsError) as caught:
        _broker(home).value(reference, "evil.test")

    assert "api.good.test" in caught.value.what
    assert "evil.test" in caught.value.what
    assert caught.value.fix.endswith(f"limnos secrets allow {reference} evil.test")


@pytest.mark.parametrize("reference", REFERENCES)
def test_what_a_person_allows_is_a_use_too(home: Path, reference: str) -> None:
    _broker(home).value(reference, "a.test")
    Secrets(home).allow(reference, "mail")

    assert _broker(home).value(reference, "mail") == VALUE
    assert _broker(home).value(reference, "a.test") == VALUE


def test_a_new_value_keeps_the_purpose_and_a_new_secret_begins_without_one(home: Path) -> None:
    _broker(home).value("secret:mine", "a.test")
    Secrets(home).rotate("mine", VALUE + "2")
    with pytest.raises(SettingsError):
        _broker(home).value("secret:mine", "b.test")
    Secrets(home).remove("mine")
    Secrets(home).set("mine", VALUE)

    assert _broker(home).value("secret:mine", "b.test") == VALUE


@pytest.mark.parametrize("reference", ["secret:other", "env:EMPTY", "env:", ":", VALUE, f"key:{VALUE}", ""])
def test_what_is_not_there_is_an_error_that_repeats_no_key_and_binds_nothing(
    home: Path, reference: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Broker(Secrets(home), lambda name: "").value(reference, "a.test")

    assert caught.value.fix
    assert VALUE not in "".join(traceback.format_exception(caught.value))
    assert "uses" not in (home / "secrets.toml").read_text()


def test_the_value_stands_in_no_error_and_no_text_of_the_broker(home: Path) -> None:
    broker = _broker(home)
    broker.value("secret:mine", "a.test")
    with pytest.raises(SettingsError) as caught:
        broker.value("secret:mine", "b.test")

    assert VALUE not in f"{broker!r} {broker} " + "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://API.good.test/v1", "api.good.test"),
        ("https://api.good.test.:443/", "api.good.test"),
        ("https://user@good.test:8443/x", "good.test"),
        ("http://[::1]:11434/v1", "::1"),
        ("https://good.test@evil.test/", "evil.test"),
    ],
)
def test_the_purpose_of_an_address_is_its_host(address: str, host: str) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize("address", ["", "good.test", "file:///etc/passwd", "https://[::1"])
def test_an_address_without_a_host_gets_no_key(address: str) -> None:
    with pytest.raises(SettingsError):
        host_of(address)
