"""From names and prices in the settings to models and money."""

import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from limnos.agent.adapters.remote import key_of, route_of
from limnos.agent.clock import SystemClock
from limnos.agent.models import Sources, choose, default_name, make, prices
from limnos.agent.money import cap
from limnos.agent.settings import Environment, Settings, read_environment
from limnos.kernel.errors import LimnosError, SettingsError
from limnos.kernel.model import Usage
from limnos.providers.catalogue import DEFAULT
from limnos.providers.fallback import Fallback
from limnos.providers.openai_compatible import OpenAICompatible
from limnos.providers.rate import Buckets
from limnos.providers.scripted import Scripted
from limnos.store.secrets import Secrets

LOCAL: dict[str, Any] = {"base_url": "http://127.0.0.1:9/v1", "model": "small"}
NOTHING_SET = Settings()
KEY = "k-" + "z9" * 10


def sources(tmp_path: Path, settings: Settings = NOTHING_SET, **variables: str) -> Sources:
    environment = read_environment({"HOME": str(tmp_path), **variables})
    clock = SystemClock()
    return Sources(settings, environment, clock, Buckets(clock))


def environment(tmp_path: Path, **variables: str) -> Environment:
    return read_environment({"HOME": str(tmp_path), **variables})


def test_a_script_a_provider_and_a_chain_are_made_by_name(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"steps": []}')
    settings = Settings(providers={"local": LOCAL})

    assert isinstance(make(f"scripted:{tmp_path}/s.json", sources(tmp_path)), Scripted)
    model = make("local/large/with/slashes", sources(tmp_path, settings))
    assert isinstance(model, OpenAICompatible)
    assert model.name == "local/large/with/slashes"
    several = Settings(model="local/a", fallback="local/b, local/c,", providers={"local": LOCAL})
    chain = choose(sources(tmp_path, several))
    assert isinstance(chain, Fallback)
    assert chain.name == "local/a"


def test_without_a_choice_it_is_the_configured_provider_else_the_embedded_model(tmp_path: Path) -> None:
    assert default_name(Settings()) == DEFAULT
    assert default_name(Settings(providers={"bare": {"base_url": "x"}, "local": LOCAL})) == "local/small"


@pytest.mark.parametrize("name", ["nothing", "nothing/x", "local/", "scripted:/nowhere.json", "gpt-9"])
def test_a_model_that_is_none_is_an_error_that_says_what_there_is(tmp_path: Path, name: str) -> None:
    bare = {key: value for key, value in LOCAL.items() if key != "model"}
    with pytest.raises(SettingsError) as caught:
        make(name, sources(tmp_path, Settings(providers={"local": bare})))

    assert caught.value.fix


def test_the_fields_of_a_provider_become_a_route(tmp_path: Path) -> None:
    table = {**LOCAL, "context_tokens": 8192, "timeout_s": 5, "price_prompt": "1", "headers": {"x-a": "b"}}
    fields = {name: value for name, value in table.items() if not name.startswith("price")}

    route = route_of("local", "", Settings(providers={"local": fields}), read_environment({}))

    assert (route.name, route.model, route.context_tokens, route.timeout_s) == ("local", "small", 8192, 5.0)
    assert isinstance(route.timeout_s, float)


def test_a_provider_with_prices_makes_a_route_too(tmp_path: Path) -> None:
    table = {**LOCAL, "price_prompt": "1", "price_completion": "2", "price_cached": "0", "currency": "EUR"}

    assert route_of("local", "", Settings(providers={"local": table}), read_environment({})).model == "small"


def test_a_key_comes_from_a_variable_or_a_secret_and_is_never_shown(tmp_path: Path) -> None:
    place = environment(tmp_path, MY_KEY=KEY)
    Secrets(place.home).set("mine", KEY)

    for where in ("env:MY_KEY", "secret:mine"):
        secret = key_of(where, place, "a.test")
        assert secret.reveal() == KEY
        assert KEY not in f"{secret} {secret!r}"
    assert key_of("", place, "a.test").reveal() == ""
    assert stat.S_IMODE((place.home / "secrets.toml").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "where", ["env:NOT_SET", "env:EMPTY", "secret:none", KEY, "file:/etc/passwd", "env:", ":"]
)
def test_a_key_that_is_not_there_is_an_error_with_the_fix_and_without_the_key(
    tmp_path: Path, where: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        key_of(where, environment(tmp_path, EMPTY=""), "a.test")

    assert caught.value.fix
    assert KEY not in caught.value.what + caught.value.fix


@pytest.mark.parametrize(
    ("table", "usage", "cost"),
    [
        ({}, Usage(1_000_000, 1_000_000), "0"),
        ({"price_prompt": "1.5"}, Usage(1_000_000, 500), "1.5"),
        ({"price_prompt": "1", "price_completion": "2"}, Usage(500_000, 250_000), "1"),
        ({"price_prompt": "1", "price_cached": "0.1"}, Usage(1_000_000, 0, 1_000_000), "0.1"),
        ({"price_prompt": "1", "price_cached": "0"}, Usage(1_000_000, 0, 1_000_000), "0"),
        ({"price_prompt": "1"}, Usage(1_000_000, 0, 400_000), "1"),
        ({"price_prompt": "1"}, Usage(100, 0, 1_000_000), "1"),
    ],
)
def test_money_is_counted_by_the_million_and_never_backwards(
    table: dict[str, str], usage: Usage, cost: str
) -> None:
    price = prices(Settings(providers={"p": {"base_url": "x", "currency": "EUR", **table}}))

    assert price("p/model", usage) == (Decimal(cost), "EUR")
    assert price("other/model", usage) == (Decimal(0), "USD")


@pytest.mark.parametrize("text", ["much", "NaN", "inf", "-1"])
def test_a_price_that_is_no_amount_is_an_error(text: str) -> None:
    price = prices(Settings(providers={"p": {"base_url": "x", "price_prompt": text}}))

    with pytest.raises(SettingsError) as caught:
        price("p/m", Usage(1, 1))
    assert "price_prompt" in caught.value.what


def test_an_empty_cap_is_none() -> None:
    assert cap("", "cap.day") is None
    assert cap("1.50", "cap.day") == Decimal("1.50")
    with pytest.raises(LimnosError):
        cap("x", "cap.day")
