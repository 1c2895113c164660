"""What looks like a key is not said again."""

import pytest

from limnos.frontends.cli.private import HIDDEN, may_be_key, without_keys

LONG = "Zm9vYmFyMTIzNDU2Nzg5MGFi"
KEYS = ["sk-abc", "--sk-abc", "gsk_x", "AIzaSyA", "eyJhbGciOi.eyJz.sig", LONG, "0" * 30 + "a"]
NAMES = ["steps", "--explain", "qwen2.5-coder-1.5b", "providers.my-server-2.base_url", "s7k2m4"]


@pytest.mark.parametrize("word", KEYS)
def test_keys_of_known_services_and_long_random_words_look_like_keys(word: str) -> None:
    assert may_be_key(word)


@pytest.mark.parametrize("word", NAMES)
def test_names_of_settings_models_and_sessions_do_not(word: str) -> None:
    assert not may_be_key(word)


def test_a_key_is_taken_out_of_a_text_wherever_it_stood_in_the_words() -> None:
    said = f"no setting is called providers.own.{LONG}; sk-abc, sk-abc-longer"
    assert without_keys(said, [f"providers.own.{LONG}", "sk-abc", "--key=sk-abc-longer"]) == (
        f"no setting is called providers.own.{HIDDEN}; {HIDDEN}, {HIDDEN}"
    )
