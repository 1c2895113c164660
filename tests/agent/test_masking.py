"""Which values are secret, and that none of them gets out."""

import base64
from pathlib import Path
from urllib.parse import quote

import pytest

from limnos.agent.masking import (
    configured_values,
    hide_at_hand,
    mask_of,
    references,
    scanner_of,
    values_at_hand,
)
from limnos.agent.settings import Environment, Settings, read_environment
from limnos.kernel.errors import SettingsError
from limnos.kernel.events import StepFinished, TextDelta
from limnos.sdk.spellings import spellings
from limnos.store.secrets import Secrets

STORED = "Zu/rich=42&lake"
NAMED = "aXq9-Tr7w-Pp21"
PROVIDERS = {
    "own": {"base_url": "http://127.0.0.1:1/v1", "model": "m", "api_key": "secret:own"},
    "other": {
        "base_url": "http://b.test",
        "model": "n",
        "api_key": "env:OTHER_KEY",
        "headers": {"x": "env:X_KEY"},
    },
    "ollama": {"base_url": "http://127.0.0.1:2/v1", "api_key": "env:PLAIN"},
}
SETTINGS = Settings(providers=PROVIDERS)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    variables = {
        "OTHER_KEY": NAMED,
        "X_KEY": "x-header-value",
        "PLAIN": "ollama",
        "UNNAMED": "not-a-secret-42",
    }
    found = read_environment({"HOME": str(tmp_path), **variables})
    Secrets(found.home).set("own", STORED)
    return found


def test_secret_is_what_the_store_holds_and_what_settings_name(environment: Environment) -> None:
    assert configured_values(environment, SETTINGS) == [STORED, NAMED, "x-header-value"]


def test_settings_that_name_a_secret_are_found(environment: Environment) -> None:
    assert references(SETTINGS) == {
        "secret:own": ["providers.own.api_key"],
        "env:OTHER_KEY": ["providers.other.api_key"],
        "env:X_KEY": ["providers.other.headers.x"],
        "env:PLAIN": ["providers.ollama.api_key"],
    }


@pytest.mark.parametrize("value", [STORED, NAMED, "süß&salt-und-mehr"])
def test_a_mask_knows_the_usual_spellings(environment: Environment, value: str) -> None:
    Secrets(environment.home).set("own", value)
    mask = mask_of(environment, SETTINGS)
    data = value.encode()
    for written in (
        value,
        quote(value, safe=""),
        quote(value, safe="").lower(),
        data.hex(),
        base64.b64encode(data).decode(),
        base64.b64encode(b"user:" + data + b"\n").decode(),
        base64.urlsafe_b64encode(b"ab" + data).decode(),
    ):
        masked = mask(TextDelta(text=f"<{written}>"))
        assert "[hidden" in masked.text
        assert written not in masked.text


def test_ordinary_text_has_none_of_the_spellings() -> None:
    assert not any(
        form in Path(__file__).with_name("test_settings.py").read_text() for form in spellings(STORED)
    )


def test_the_scanner_for_exports_knows_the_values_too(environment: Environment) -> None:
    hidden = scanner_of(environment, SETTINGS).hide(
        f"a {base64.b64encode(NAMED.encode()).decode()} b {STORED}"
    )

    assert hidden == "a [hidden: configured value] b [hidden: configured value]"


def test_a_store_that_cannot_be_read_promises_nothing_and_errors_are_shown_all_the_same(
    environment: Environment,
) -> None:
    (environment.home / "secrets.toml").chmod(0o644)
    with pytest.raises(SettingsError, match="others can read"):
        mask_of(environment, SETTINGS)

    assert hide_at_hand(environment, "text") == "text"


def test_an_error_hides_the_values_also_when_settings_cannot_be_read(environment: Environment) -> None:
    (environment.home / "config.toml").write_text("nonsense")

    assert hide_at_hand(environment, f"bad key {STORED}") == "bad key [hidden: configured value]"
    (environment.home / "config.toml").write_text('[providers.other]\napi_key = "env:OTHER_KEY"\n')
    assert values_at_hand(environment) == [STORED, NAMED]


def test_a_value_that_is_rotated_while_a_session_is_open_is_hidden_too(tmp_path: Path) -> None:
    environment = read_environment({"HOME": str(tmp_path), "LIMNOS_HOME": str(tmp_path / "home")})
    store = Secrets(environment.home)
    store.set("own", "old-value-1234")
    mask = mask_of(environment, Settings())
    store.rotate("own", "new-value-5678")

    told = mask(StepFinished(text="old-value-1234 and new-value-5678"))

    assert told.text == "[hidden: configured value] and [hidden: configured value]"
