"""Settings from five layers, and changing them without losing a comment."""

import os
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from limnos.agent.adapters.remote import route_of
from limnos.agent.models import default_name
from limnos.agent.provider_table import OF_MONEY, PROVIDER_KEYS
from limnos.agent.settings import KEYS, Environment, explain, load, read_environment
from limnos.agent.settings_file import set_value, unset_value
from limnos.kernel.errors import LimnosError, SettingsError, StorageError
from limnos.providers.catalogue import DEFAULT
from limnos.providers.routes import ReasoningPolicy, Route
from tests.store.disks import full_disk

LAYERS = ("flag", "LIMNOS_STEPS", "project", "user", "system", "default")


def place(tmp_path: Path, **variables: str) -> Environment:
    environment = read_environment({"HOME": str(tmp_path), **variables})
    (tmp_path / ".limnos").mkdir(exist_ok=True)
    (tmp_path / "etc").mkdir(exist_ok=True)
    (tmp_path / "work" / ".limnos").mkdir(parents=True, exist_ok=True)
    return Environment(environment.home, environment.cache, tmp_path / "etc", environment.variables)


def write(tmp_path: Path, layer: str, text: str) -> None:
    folder = {"project": "work/.limnos", "user": ".limnos", "system": "etc"}[layer]
    (tmp_path / folder / "config.toml").write_text(text)


@pytest.mark.parametrize("highest", range(6))
def test_the_first_layer_that_says_something_wins(tmp_path: Path, highest: int) -> None:
    present = LAYERS[highest:]
    variables = {"LIMNOS_STEPS": "2"} if "LIMNOS_STEPS" in present else {}
    environment = place(tmp_path, **variables)
    for number, layer in ((3, "project"), (4, "user"), (5, "system")):
        if layer in present:
            write(tmp_path, layer, f"steps = {number}\n")
    flags = {"steps": "1"} if "flag" in present else {}

    settings = load(environment, flags, tmp_path / "work")
    said = explain(environment, "steps", flags, tmp_path / "work")

    assert settings.steps == said.value == [1, 2, 3, 4, 5, 25][highest]
    names = [
        "flag",
        "LIMNOS_STEPS",
        ".limnos/config.toml",
        f"{tmp_path}/.limnos/config.toml",
        f"{tmp_path}/etc/config.toml",
        "default",
    ]
    assert said.origin == names[highest]
    assert [layer.name for layer in said.layers] == names
    assert [layer.value is not None for layer in said.layers] == [name in present for name in LAYERS]


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("model", 'model = "evil/model"'),
        ("mode", 'mode = "yolo"'),
        ("fallback", 'fallback = "x"'),
        ("cap.turn", '[cap]\nturn = "99"'),
        ("approval.seconds", "[approval]\nseconds = 9"),
        ("catalogue.share", "[catalogue]\nshare = 0.9"),
    ],
)
def test_a_workspace_may_not_choose_models_modes_or_caps(tmp_path: Path, key: str, text: str) -> None:
    environment = place(tmp_path)
    write(tmp_path, "project", text)

    said = explain(environment, key, workspace=tmp_path / "work")

    assert said.origin == "default"
    assert (
        said.value
        == KEYS[key].default
        == getattr(load(environment, workspace=tmp_path / "work"), KEYS[key].attribute)
    )
    assert said.layers[2].note == f"a workspace may not set {key}"


def test_a_workspace_adds_no_provider_and_an_untrusted_one_is_not_read(tmp_path: Path) -> None:
    environment = place(tmp_path)
    write(tmp_path, "project", 'steps = 3\n[providers.evil]\nbase_url = "http://evil"\n')

    assert load(environment, workspace=tmp_path / "work").providers == {}
    assert load(environment).steps == 25


def test_the_users_providers_stand_over_the_systems(tmp_path: Path) -> None:
    environment = place(tmp_path)
    write(tmp_path, "system", '[providers.a]\nbase_url = "http://a"\n[providers.b]\nbase_url = "http://b"\n')
    write(tmp_path, "user", '[providers.b]\nbase_url = "http://mine"\nprice_prompt = "1.5"\ntimeout_s = 5\n')

    providers = load(environment).providers

    assert providers["a"]["base_url"] == "http://a"
    assert providers["b"]["base_url"] == "http://mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("steps = 3\nmode = \n", "line 2"),
        ("steps = [1,\n", "line"),
        ("stepz = 3\n", "stepz"),
        ("[turn]\nsecond = 3\n", "turn.second"),
        ('steps = "many"\n', "steps"),
        ("steps = 2.5\n", "steps"),
        ("steps = true\n", "steps"),
        ("steps = 0\n", "at least 1"),
        ("[context]\nshare = 5\n", "at most 1"),
        ("[context]\nprune_target = 2\n", "at most 0.95"),
        ("[turn]\nseconds = nan\n", "turn.seconds"),
        ("[turn]\nseconds = inf\n", "turn.seconds"),
        ('mode = "maybe"\n', "ask, auto, yolo"),
        ('[cap]\nday = "a lot"\n', "cap.day"),
        ('[cap]\nday = "-1"\n', "cap.day"),
        ('providers = "x"\n', "providers"),
        ('providers.a = "x"\n', "providers.a"),
        ('[providers.a]\nbase_url = "x"\nkey = "k"\n', "providers.a.key"),
        ("[providers.a]\nbase_url = 5\n", "providers.a.base_url"),
        ('[providers.a]\nbase_url = "x"\nprice_prompt = "x"\n', "providers.a.price_prompt 1.50"),
        ('[providers.a]\nbase_url = "x"\nprice_completion = "nan"\n', "providers.a.price_completion 1.50"),
        ('[providers.a]\nbase_url = "x"\nprice_cached = 2\n', "providers.a.price_cached 1.50"),
        ('[providers.a]\nbase_url = "x"\ncontext_tokens = 0\n', "providers.a.context_tokens 32768"),
        ('[providers.a]\nbase_url = "x"\ncontext_tokens = true\n', "providers.a.context_tokens 32768"),
        ('[providers.a]\nbase_url = "x"\ntimeout_s = inf\n', "providers.a.timeout_s 240"),
        ('[providers.a]\nbase_url = "x"\nconnect_timeout_s = -1\n', "providers.a.connect_timeout_s 10"),
        ('[providers.a]\nbase_url = "x"\nreasoning = "no"\n', "keep, pad, drop"),
        pytest.param(f"steps = {'9' * 5000}\n", "no valid TOML", id="endless digits"),
        pytest.param(f"steps = {'9' * 400}\n", "too large", id="many digits"),
        pytest.param(f"[turn]\nseconds = {'9' * 400}\n", "too large", id="many seconds"),
        pytest.param(f"steps = {'[' * 5000}\n", "no valid TOML", id="deep brackets"),
    ],
)
def test_a_slip_in_the_file_is_an_error_that_names_it_and_the_way_out(
    tmp_path: Path, text: str, says: str
) -> None:
    environment = place(tmp_path)
    write(tmp_path, "user", text)

    with pytest.raises(SettingsError) as caught:
        load(environment)

    assert says in f"{caught.value.what} {caught.value.fix}"
    assert caught.value.fix
    assert caught.value.exit_code == 2


def test_bytes_that_are_no_text_are_a_broken_file(tmp_path: Path) -> None:
    environment = place(tmp_path)
    (tmp_path / ".limnos" / "config.toml").write_bytes(b'mode = "\xff"')

    with pytest.raises(SettingsError):
        load(environment)


@pytest.mark.parametrize(
    ("variable", "value"), [("LIMNOS_STEPS", "x"), ("LIMNOS_MODE", "x"), ("LIMNOS_TURN_SECONDS", "")]
)
def test_a_variable_is_checked_as_a_file_is_and_an_empty_one_says_nothing(
    tmp_path: Path, variable: str, value: str
) -> None:
    environment = place(tmp_path, **{variable: value})

    if not value:
        assert load(environment).turn_seconds == 3600.0
        return
    with pytest.raises(SettingsError) as caught:
        load(environment)
    assert variable in caught.value.what


def test_an_unknown_key_is_answered_with_near_ones(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        explain(place(tmp_path), "turn.secnods")
    assert "turn.seconds" in caught.value.fix

    with pytest.raises(SettingsError) as caught:
        set_value(place(tmp_path), "seconds", "5")
    assert "turn.seconds" in caught.value.fix


def test_setting_and_unsetting_keep_a_persons_comments_and_order(tmp_path: Path) -> None:
    environment = place(tmp_path)
    written = "# mine\nsteps = 3 # few\n\n[turn] # limits\nseconds = 60.0\n"
    write(tmp_path, "user", written)

    assert set_value(environment, "mode", "auto") == "auto"
    assert set_value(environment, "turn.tokens", "5000") == 5000
    assert set_value(environment, "steps", "4") == 4

    text = (tmp_path / ".limnos" / "config.toml").read_text()
    assert "# mine\n" in text
    assert "steps = 4 # few" in text
    assert "[turn] # limits" in text
    settings = load(environment)
    assert (settings.mode, settings.turn_tokens, settings.steps, settings.turn_seconds) == (
        "auto",
        5000,
        4,
        60.0,
    )
    assert unset_value(environment, "turn.tokens")
    assert unset_value(environment, "mode")
    assert not unset_value(environment, "mode")
    assert not unset_value(environment, "steps.x")
    assert (tmp_path / ".limnos" / "config.toml").read_text() == written.replace("steps = 3", "steps = 4")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", "many"), ("mode", "perhaps"), ("cap.day", "a lot"), ("nothing", "1"), ("providers.a", "1"),
        ("providers.a.api_key", "sk-12345"), ("providers.a.nothing", "1"), ("providers.a.headers", "x"),
        ("providers.a.context_tokens", "x"), ("providers.a.context_tokens", "0"),
        ("providers.a.timeout_s", "nan"), ("providers.a.connect_timeout_s", "inf"),
        ("providers.a.price_prompt", "cheap"), ("providers.a.price_cached", "-1"),
        ("providers.a.reasoning", "sometimes"), ("providers.a.sees_images", "True"),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_changes_nothing(tmp_path: Path, name: str, value: str) -> None:
    environment = place(tmp_path)
    write(tmp_path, "user", "steps = 3\n")

    with pytest.raises(SettingsError) as caught:
        set_value(environment, name, value)

    assert caught.value.fix
    assert "sk-12345" not in caught.value.what + caught.value.fix
    assert (tmp_path / ".limnos" / "config.toml").read_text() == "steps = 3\n"


@pytest.mark.parametrize("text", ["turn = 5\n", "steps = 3\n[turn.seconds]\nx = 1\n"])
def test_a_file_with_another_shape_is_an_error_and_not_a_crash(tmp_path: Path, text: str) -> None:
    environment = place(tmp_path)
    write(tmp_path, "user", text)

    with pytest.raises(SettingsError):
        set_value(environment, "turn.seconds", "5")
    unset_value(environment, "turn.seconds.y")
    assert (tmp_path / ".limnos" / "config.toml").read_text() == text


def test_a_provider_is_set_field_by_field(tmp_path: Path) -> None:
    environment = place(tmp_path)
    set_value(environment, "providers.local.base_url", "http://127.0.0.1:1/v1")
    set_value(environment, "providers.local.context_tokens", "8192")
    set_value(environment, "providers.local.api_key", "env:MY_KEY")

    assert load(environment).providers["local"]["context_tokens"] == 8192
    assert (
        tomllib.loads((tmp_path / ".limnos" / "config.toml").read_text())["providers"]["local"]["api_key"]
        == "env:MY_KEY"
    )


def test_a_linked_file_is_changed_where_it_really_is(tmp_path: Path) -> None:
    environment = place(tmp_path)
    (tmp_path / "dotfiles.toml").write_text("steps = 3\n")
    (tmp_path / ".limnos" / "config.toml").symlink_to("../dotfiles.toml")

    set_value(environment, "steps", "4")

    assert (tmp_path / ".limnos" / "config.toml").is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == "steps = 4\n"


def test_a_home_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    environment = read_environment({"HOME": str(tmp_path), "LIMNOS_HOME": str(tmp_path / "home")})

    assert load(environment).steps == 25
    with pytest.raises(StorageError) as caught:
        set_value(environment, "steps", "4")
    assert caught.value.fix


def test_a_full_disk_is_told_with_what_helps_outside_of_a_chat(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        environment = read_environment({"HOME": str(tmp_path), "LIMNOS_HOME": str(disk.folder)})
        set_value(environment, "steps", "4")
        with disk.filled(), pytest.raises(StorageError) as caught:
            set_value(environment, "steps", "5")
        assert caught.value.fix.endswith(", then try again")
        assert load(environment).steps == 4


@pytest.mark.parametrize(
    ("zone", "expected"),
    [("Europe/Berlin", "Europe/Berlin"), (":Asia/Tokyo", "Asia/Tokyo"), ("UTC", "UTC")],
)
def test_the_zone_comes_from_the_environment(zone: str, expected: str) -> None:
    assert read_environment({"TZ": zone}).zone == expected


@pytest.mark.parametrize("zone", ["CET-1CEST", "/etc/passwd", "../../etc/passwd", "Nowhere/City", "Europe"])
def test_a_zone_that_is_none_gives_one_that_is(zone: str) -> None:
    assert read_environment({"TZ": zone}).zone != zone


def test_commands_see_no_key_and_nothing_of_ours() -> None:
    given = {
        "PATH": "/bin",
        "HOME": "/h",
        "OPENAI_API_KEY": "k",
        "LIMNOS_MODEL": "m",
        "AWS_SECRET": "s",
        "LANG": "C",
    }

    assert read_environment(given).child_environment() == {
        "PATH": "/bin",
        "HOME": "/h",
        "LANG": "C",
        "LIMNOS_COMMAND": "1",
    }


def test_the_reasoning_policies_are_those_that_a_route_knows(tmp_path: Path) -> None:
    environment = place(tmp_path)
    for policy in get_args(ReasoningPolicy):
        assert set_value(environment, "providers.a.reasoning", policy) == policy


def test_every_field_of_a_route_can_be_set() -> None:
    assert {field.name for field in fields(Route)} - {"name"} == set(PROVIDER_KEYS) - OF_MONEY


def test_a_provider_that_sees_images_is_told_so_by_a_word(tmp_path: Path) -> None:
    environment = place(tmp_path)

    assert set_value(environment, "providers.a.sees_images", "true") is True
    assert set_value(environment, "providers.b.sees_images", "false") is False
    assert load(environment).providers["a"] == {"sees_images": True}


def test_every_key_has_help_and_a_default_that_it_accepts(tmp_path: Path) -> None:
    environment = place(tmp_path)
    for key in KEYS.values():
        assert key.help
        assert explain(environment, key.name).value == key.default
    assert not issubclass(SettingsError, ValueError)
    assert issubclass(SettingsError, LimnosError)


def test_a_provider_that_lacks_its_address_stands_in_nobody_s_way_until_it_is_used(tmp_path: Path) -> None:
    environment = place(tmp_path)
    write(tmp_path, "user", '[providers.a]\nmodel = "m"\n')

    settings = load(environment)

    assert default_name(settings) == DEFAULT
    with pytest.raises(SettingsError, match="base_url is not set"):
        route_of("a", "m", settings, environment)


def test_unsetting_the_last_field_of_a_provider_removes_it(tmp_path: Path) -> None:
    environment = place(tmp_path)
    set_value(environment, "providers.a.api_key", "secret:a")

    assert unset_value(environment, "providers.a.api_key")

    assert "providers" not in (environment.home / "config.toml").read_text()


@pytest.mark.parametrize("name", ["nope", "nope/other"])
def test_a_model_that_cannot_be_is_not_stored(tmp_path: Path, name: str) -> None:
    environment = place(tmp_path)

    with pytest.raises(SettingsError, match="nope"):
        set_value(environment, "model", name)


@pytest.mark.parametrize(
    "address", ["notaurl", "ftp://h", "http://", "http://[", "http://h:99999", "http://h:x"]
)
def test_an_address_that_is_none_is_not_stored(tmp_path: Path, address: str) -> None:
    with pytest.raises(SettingsError, match="no http address"):
        set_value(place(tmp_path), "providers.a.base_url", address)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode\udcff", "ask"),
        ("model", "a\udcff"),
        ("fallback", "a\nb"),
        ("providers.a.model", "m\x1b[31m"),
        ("providers.a/b.model", "m"),
        ("providers.a b.model", "m"),
        ("providers..model", "m"),
    ],
)
def test_what_no_line_of_the_file_can_hold_or_no_name_can_reach_is_not_stored(
    tmp_path: Path, name: str, value: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        set_value(place(tmp_path), name, value)

    assert caught.value.what.isprintable()
    assert not (tmp_path / ".limnos" / "config.toml").exists()


@pytest.mark.parametrize(
    "text",
    [
        'headers = {X-Key = "hush\\nX-Evil: 1"}\n',
        "headers = {X-Key = 4711}\n",
        'headers = "hush"\n',
        "extra = {day = 2026-01-01}\n",
        "extra = {deep = [{top_p = nan}]}\n",
        f"context_tokens = 1{'0' * 400}\n",
        f"timeout_s = 1{'0' * 400}\n",
    ],
)
def test_a_field_of_a_provider_that_no_request_can_carry_is_named_without_its_value(
    tmp_path: Path, text: str
) -> None:
    environment = place(tmp_path)
    write(tmp_path, "user", f"[providers.a]\n{text}")

    with pytest.raises(SettingsError, match=r"providers\.a\.") as caught:
        load(environment)

    said = caught.value.what + caught.value.fix
    assert caught.value.fix
    assert not any(value in said for value in ("hush", "4711", "2026"))


@pytest.mark.parametrize("layer", ["project", "user", "system"])
def test_a_settings_file_that_is_none_is_refused_at_once(tmp_path: Path, layer: str) -> None:
    environment = place(tmp_path)
    file = tmp_path / {"project": "work/.limnos", "user": ".limnos", "system": "etc"}[layer] / "config.toml"
    os.mkfifo(file)

    with pytest.raises(SettingsError) as refused:
        load(environment, workspace=tmp_path / "work")

    assert refused.value.what.endswith("config.toml cannot be read: it is no regular file")
    assert refused.value.fix == f"make {file} a text file that you can read"


def test_a_settings_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    environment = place(tmp_path)
    write(tmp_path, "user", "#" * 1_000_001)

    with pytest.raises(SettingsError, match="it has more than 1,000,000 bytes"):
        load(environment)


def test_pip_sees_its_own_settings_and_the_proxy_but_no_secret(tmp_path: Path) -> None:
    variables = {
        "HOME": str(tmp_path),
        "PATH": "/bin",
        "PIP_INDEX_URL": "https://index.example/simple",
        "HTTPS_PROXY": "http://proxy.example",
        "OPENAI_API_KEY": "sk-canary",
        "LIMNOS_HOME": str(tmp_path),
    }

    seen = read_environment(variables).pip_environment()

    assert sorted(seen) == ["HOME", "HTTPS_PROXY", "PATH", "PIP_INDEX_URL"]


def test_a_home_of_a_user_that_does_not_exist_is_taken_as_it_is_written() -> None:
    environment = read_environment({"HOME": "/home/me", "LIMNOS_HOME": "~no-such-user/x"})

    assert environment.home == Path("~no-such-user/x").absolute()
