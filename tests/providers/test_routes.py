import pickle

import pytest

from limnos.kernel.errors import SettingsError
from limnos.providers.routes import Route, Secret, endpoint

from .support import KEY


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1/chat/completions"),
        ("https://api.test/v1", "https://api.test/v1/chat/completions"),
        ("https://api.test/v1/", "https://api.test/v1/chat/completions"),
        ("https://api.test/api/paas/v4", "https://api.test/api/paas/v4/chat/completions"),
        ("https://api.test/v12", "https://api.test/v12/chat/completions"),
        ("https://api.test/openai", "https://api.test/openai/v1/chat/completions"),
        ("https://api.test/v1beta", "https://api.test/v1beta/v1/chat/completions"),
        ("https://api.test/x/chat/completions", "https://api.test/x/chat/completions"),
        ("https://api.test/v1?version=2", "https://api.test/v1/chat/completions?version=2"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1/chat/completions"),
    ],
)
def test_a_base_url_that_ends_in_a_version_is_taken_as_it_is(base: str, url: str) -> None:
    assert endpoint(base) == url


@pytest.mark.parametrize(
    "base",
    [
        "",
        "api.test/v1",
        "ftp://api.test",
        "http://",
        "http://a b/v1",
        "http://h:99999/v1",
        "file:///etc",
        "http://[",
    ],
)
def test_a_base_url_that_is_none_is_refused_with_an_example(base: str) -> None:
    with pytest.raises(SettingsError, match="base_url of mine") as caught:
        Route("mine", base, "m")
    assert "http://" in caught.value.fix


def test_models_are_listed_beside_the_endpoint() -> None:
    assert Route("r", "http://h/v1", "m").models_url == "http://h/v1/models"


def test_a_key_shows_its_last_four_characters_at_most() -> None:
    secret = Secret(KEY, "TEST_KEY")
    route = Route("r", "http://h", "m", secret, headers={"x": KEY})
    for shown in (str(secret), repr(secret), f"{secret}", repr(route), secret.mask(f"got {KEY}!")):
        assert KEY not in shown
        assert KEY[:-4] not in shown
    assert KEY[-4:] in str(secret)
    assert secret.reveal() == KEY


def test_a_short_key_shows_nothing() -> None:
    assert "cd" not in str(Secret("abcd"))


def test_a_key_is_not_written_down() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret(KEY))


@pytest.mark.parametrize("value", [" ", "\t\n", f"{KEY}\n", f" {KEY}", "a\x00b", "schlüssel", "a\u200bb"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(value: str) -> None:
    with pytest.raises(SettingsError, match="from TEST_KEY") as caught:
        Secret(value, "TEST_KEY")
    assert KEY not in caught.value.what
    assert "\x00" not in caught.value.what


def test_no_key_is_a_key_too() -> None:
    assert not Secret("")
    assert str(Secret("")) == "(no key)"
    assert Secret("").mask("text") == "text"
