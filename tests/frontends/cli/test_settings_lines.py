"""Settings, flags and secrets on the command line."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.support import limnos, script, work_folder

SAYS_HELLO = {"text": "Hello **there**."}


def test_a_limit_that_no_flag_has_set_names_its_setting(tmp_path: Path) -> None:
    step = {"calls": [{"name": "list_dir", "arguments": {"path": "."}}]}
    model = script(tmp_path, step, {"text": "partly"}, {"text": "x"})
    done = limnos(tmp_path, "run", "x", LIMNOS_MODEL=model, LIMNOS_STEPS="1")
    assert done.stderr.strip().split("\n")[-1] == "fix: limnos config set steps 2"


@pytest.mark.parametrize(
    ("flag", "value", "error"),
    [
        ("--max-cost", "-1", "is '-1', not a finite amount of at least 0\nfix: for example --max-cost 1.50"),
        ("--max-cost", "much", "is 'much', not an amount of money\nfix: for example --max-cost 1.50"),
        ("--steps", "0", "is 0\nfix: a number of at least 1"),
        ("--mode", "bold", "is 'bold'\nfix: one of: ask, auto, yolo"),
    ],
)
def test_a_wrong_flag_is_named_as_it_was_typed(tmp_path: Path, flag: str, value: str, error: str) -> None:
    done = limnos(tmp_path, "run", "x", flag, value, LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    assert (done.returncode, done.stderr) == (2, f"error: {flag} {error}\n")


def test_settings_are_set_explained_and_unset_with_the_next_command(tmp_path: Path) -> None:
    done = limnos(tmp_path, "config", "set", "steps", "40")
    assert done.stderr == "✓ steps = 40  next: limnos config --explain steps\n"
    assert limnos(tmp_path, "config", "get", "steps").stdout == "40\n"
    assert limnos(tmp_path, "config", "--explain", "steps").stdout == (
        "steps = 40   from ~/home/config.toml\n"
        "  not set   --steps, LIMNOS_STEPS, .limnos/config.toml, /etc/limnos/config.toml\n"
        "  hidden    default: says 25\n"
    )
    overridden = limnos(tmp_path, "config", "--explain", "steps", LIMNOS_STEPS="7").stdout
    assert overridden.startswith("steps = 7   from LIMNOS_STEPS\n")
    assert limnos(tmp_path, "config", "unset", "steps").returncode == 0
    assert limnos(tmp_path, "config", "get", "steps").stdout == "25\n"


def test_the_settings_of_a_provider_can_be_looked_at(tmp_path: Path) -> None:
    key = "providers.own.base_url"
    first = limnos(tmp_path, "config", "set", key, "http://127.0.0.1:9")
    assert first.stderr == (
        f"✓ {key} = http://127.0.0.1:9  next: limnos config set providers.own.model MODEL\n"
    )
    both = limnos(tmp_path, "config", "set", "providers.own.model", "qwen3:8b")
    assert both.stderr.endswith("  next: limnos model use own/qwen3:8b\n")
    limnos(tmp_path, "config", "set", "providers.own.api_key", "secret:own")
    assert limnos(tmp_path, "config", "get", "providers.own.api_key").stdout == "secret:own\n"
    explained = limnos(tmp_path, "config", "--explain", key).stdout
    assert explained == (
        f'{key} = "http://127.0.0.1:9"   from ~/home/config.toml\n  not set   /etc/limnos/config.toml\n'
    )
    listed = limnos(tmp_path, "config", "list").stdout
    assert f"{key}\thttp://127.0.0.1:9\t~/home/config.toml\taddress of the server\n" in listed
    unset = limnos(tmp_path, "config", "get", "providers.own.timeout_s")
    assert unset.returncode == 2
    assert unset.stderr.startswith("error: providers.own.timeout_s is not set\nfix: limnos config set ")


def test_what_may_be_a_key_is_not_shown_among_the_settings(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text(
        '[providers.own]\nbase_url = "http://me:hush1@127.0.0.1:9"\napi_key = "hush2"\n'
        'headers = { X-Key = "hush3" }\n'
    )
    done = limnos(tmp_path, "config", "list")
    assert "providers.own.headers\tX-Key\t" in done.stdout
    assert "http://...@127.0.0.1:9" in done.stdout
    assert "hush" not in done.stdout + done.stderr


def test_a_secret_comes_from_stdin_or_a_file_and_is_never_shown(tmp_path: Path) -> None:
    value = "sk-" + "a1b2" * 8
    done = limnos(tmp_path, "secrets", "set", "openai", given=value + "\n")
    assert done.returncode == 0
    (tmp_path / "key").write_text(value)
    assert limnos(tmp_path, "secrets", "set", "other", "--key-file", str(tmp_path / "key")).returncode == 0
    listed = limnos(tmp_path, "secrets", "list")
    assert listed.stdout == "a1b2\topenai\tnot used yet\na1b2\tother\tnot used yet\n"
    assert value not in done.stdout + done.stderr + listed.stderr
    assert (tmp_path / "home" / "secrets.toml").stat().st_mode & 0o777 == 0o600
    assert limnos(tmp_path, "secrets", "set", "openai", value).returncode == 2


def test_a_slip_in_the_settings_file_is_unset_as_its_error_says(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.toml").write_text("stepz = 4\n")
    assert "limnos config unset stepz" in limnos(tmp_path, "config", "list").stderr
    done = limnos(tmp_path, "config", "unset", "stepz")
    assert done.stderr == "✓ stepz is unset  next: limnos config list\n"


@pytest.mark.parametrize("word", ["hunter", "--sk-abc-0123456789"])
@pytest.mark.parametrize(
    "before",
    [
        "",
        "set own",
        "set own x",
        "list",
        "remove own",
        "remove",
        "set own --key-file",
        "set own --flag",
        "rotate",
        "rotate own",
        "rotate own --key-file",
        "allow",
        "allow own",
    ],
)
def test_what_is_typed_behind_secrets_by_mistake_is_never_repeated(
    tmp_path: Path, before: str, word: str
) -> None:
    done = limnos(tmp_path, "secrets", *before.split(), word)
    assert word.strip("-") not in done.stdout + done.stderr
    assert done.stderr.count("\n") <= 2
    assert "limnos" in done.stderr or "--key-file" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "secrets set KEY",
        "config KEY",
        "config --KEY",
        "config list KEY",
        "config get KEY",
        "config unset KEY",
        "config --explain KEY",
        "config set KEY x",
        "config set a b KEY",
        "config set mode KEY",
        "config set steps KEY",
        "config set cap.day KEY",
        "config set model KEY",
        "config set providers.own.api_key KEY",
        "config set providers.own.base_url KEY",
        "config set providers.own.price_prompt KEY",
        "config set providers.own.KEY x",
        "KEY",
        "--api-key KEY",
        "run --api-key=KEY x",
        "help KEY",
        "sessions --limit KEY",
        "fork abc --at KEY",
        "run --json --continue KEY hi",
        "run --model x/KEY hi",
        "run --json --model x/KEY hi",
        "--model x/KEY",
        "open s7k2m4 --model KEY",
        "model use x/KEY",
        "config set model x/KEY",
        "config set fallback x/KEY",
        "config set providers.x.model KEY",
        "Bearer:KEY",
        "'KEY'",
        'x="KEY"',
    ],
)
@pytest.mark.parametrize("key", ["sk-abc-0123456789", "sk-proj-" + "abcB3" * 40], ids=["short", "long"])
def test_an_error_never_repeats_a_word_that_looks_like_a_key_and_nothing_keeps_it(
    tmp_path: Path, line: str, key: str
) -> None:
    done = limnos(tmp_path, *(word.replace("KEY", key) for word in line.split()))
    assert done.returncode == 2
    assert key[:12] not in done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in kept if key.encode() in path.read_bytes()]


@pytest.mark.parametrize("name", ["hf_token", "azure-openai-gpt4-eastus2"])
def test_a_secret_may_have_a_name_with_digits_and_hyphens(tmp_path: Path, name: str) -> None:
    assert limnos(tmp_path, "secrets", "set", name, given="value\n").returncode == 0


@pytest.mark.parametrize(
    "line", ["model get Qwen3-Coder-30B-A3B-Instruct", "replay /a/b/some1folder/session-file"]
)
def test_an_error_repeats_a_name_or_a_path_that_is_no_key(tmp_path: Path, line: str) -> None:
    assert line.rsplit(maxsplit=1)[-1] in limnos(tmp_path, *line.split()).stderr


def test_the_model_that_is_used_is_named_where_none_is_set(tmp_path: Path) -> None:
    def said() -> str:
        return limnos(tmp_path, "config", "--explain", "model").stdout.splitlines()[-1]

    assert said() == (
        "  used      qwen2.5-coder-1.5b, as no model is set and no provider has both base_url and model"
    )
    limnos(tmp_path, "config", "set", "providers.own.base_url", "http://127.0.0.1:9")
    limnos(tmp_path, "config", "set", "providers.own.model", "m")
    assert said() == (
        "  used      own/m, as no model is set and this is the first provider with base_url and model"
    )
    record = json.loads(limnos(tmp_path, "config", "--explain", "model", "--json").stdout)
    assert (record["value"], record["used"]) == ("", "own/m")


def test_an_explanation_tells_what_the_folder_says_and_that_it_does_not_count(tmp_path: Path) -> None:
    folder = work_folder(tmp_path) / ".limnos"
    folder.mkdir()
    (folder / "config.toml").write_text('steps = 3\nmodel = "other"\n')
    limnos(tmp_path, "config", "set", "steps", "9")

    assert limnos(tmp_path, "config", "--explain", "steps", LIMNOS_STEPS="7").stdout.splitlines() == [
        "steps = 7   from LIMNOS_STEPS",
        "  not set   --steps, /etc/limnos/config.toml",
        "  ignored   .limnos/config.toml: says 3, which counts with --trust only",
        "  hidden    ~/home/config.toml: says 9",
        "  hidden    default: says 25",
    ]
    ignored = "  ignored   .limnos/config.toml: a workspace may not set model"
    assert ignored in limnos(tmp_path, "config", "--explain", "model").stdout.splitlines()
    assert "--" not in limnos(tmp_path, "config", "--explain", "grace.seconds").stdout
    (folder / "config.toml").write_text("steps = \n")
    broken = limnos(tmp_path, "config", "--explain", "steps")
    assert broken.returncode == 0
    assert "  ignored   .limnos/config.toml: " in broken.stdout
    record = json.loads(limnos(tmp_path, "config", "--explain", "steps", "--json").stdout)
    assert (record["value"], record["layers"][2]["value"]) == (9, None)
