"""`limnos secrets`: values go in and are never shown; what still needs them is said."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.support import limnos

VALUE = "k-" + "q7" * 12
NEXT = "k-" + "r8" * 12


def _provider(folder: Path) -> None:
    for key, value in (("base_url", "http://127.0.0.1:9/v1"), ("api_key", "secret:own"), ("model", "m")):
        assert limnos(folder, "config", "set", f"providers.own.{key}", value).returncode == 0


def test_an_empty_list_says_so_and_what_comes_next(tmp_path: Path) -> None:
    done = limnos(tmp_path, "secrets", "list")

    assert done.stdout == ""
    assert done.stderr == "- no secret is set  next: limnos secrets set NAME\n"
    assert limnos(tmp_path, "secrets", "list", "--json").stdout == ""


def test_a_rotated_value_takes_the_place_of_the_old_one_and_its_users_are_named(tmp_path: Path) -> None:
    limnos(tmp_path, "secrets", "set", "own", given=VALUE)
    _provider(tmp_path)
    done = limnos(tmp_path, "secrets", "rotate", "own", given=NEXT)

    assert done.returncode == 0
    assert done.stderr.startswith(
        "✓ own is set, ending in r8r8, the old value is gone, used by providers.own.api_key"
    )
    kept = (tmp_path / "home" / "secrets.toml").read_text()
    assert NEXT in kept
    assert VALUE not in kept
    assert NEXT not in done.stderr + done.stdout


def test_only_what_is_there_is_rotated_and_nothing_is_asked_before(tmp_path: Path) -> None:
    done = limnos(tmp_path, "secrets", "rotate", "own", given=VALUE)

    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: no secret has that name"
    assert not (tmp_path / "home" / "secrets.toml").exists()


@pytest.mark.parametrize("command", ["set", "rotate"])
def test_a_value_is_never_an_argument(tmp_path: Path, command: str) -> None:
    limnos(tmp_path, "secrets", "set", "own", given=VALUE)
    for words in (["own", NEXT], [NEXT], ["own", "--key-file"], ["own", f"--value={NEXT}"]):
        done = limnos(tmp_path, "secrets", command, *words, given="")
        assert done.returncode == 2
        assert NEXT not in done.stdout + done.stderr
    assert VALUE in (tmp_path / "home" / "secrets.toml").read_text()


def test_removing_a_secret_says_which_settings_still_name_it(tmp_path: Path) -> None:
    limnos(tmp_path, "secrets", "set", "own", given=VALUE)
    _provider(tmp_path)
    done = limnos(tmp_path, "secrets", "remove", "own")

    assert done.returncode == 0
    assert "removed own; still named by providers.own.api_key" in done.stderr
    assert "next: limnos config unset providers.own.api_key" in done.stderr
    assert VALUE not in (tmp_path / "home" / "secrets.toml").read_text()


def test_settings_that_cannot_be_read_do_not_keep_a_secret_from_being_removed(tmp_path: Path) -> None:
    limnos(tmp_path, "secrets", "set", "own", given=VALUE)
    (tmp_path / "home" / "config.toml").write_text("nonsense")

    assert limnos(tmp_path, "secrets", "remove", "own").returncode == 0


def test_one_more_purpose_is_allowed_by_a_person_and_listed(tmp_path: Path) -> None:
    limnos(tmp_path, "secrets", "set", "own", given=VALUE)
    for purpose in ("api.good.test", "Mail"):
        assert limnos(tmp_path, "secrets", "allow", "own", purpose).returncode == 0
    listed = json.loads(limnos(tmp_path, "secrets", "list", "--json").stdout)

    assert listed == {"name": "own", "last_four": "q7q7", "uses": ["api.good.test", "mail"]}
    assert limnos(tmp_path, "secrets", "allow", "other", "a.test").returncode == 2
    assert limnos(tmp_path, "secrets", "allow", "env:MY_KEY", "a.test").returncode == 0


def test_a_key_goes_to_no_second_host_before_a_person_allows_it(tmp_path: Path) -> None:
    limnos(tmp_path, "secrets", "set", "own", given=VALUE)
    _provider(tmp_path)
    limnos(tmp_path, "run", "hello", "--model", "own/m")
    limnos(tmp_path, "config", "set", "providers.own.base_url", "http://localhost:9/v1")
    done = limnos(tmp_path, "run", "hello", "--model", "own/m")

    what, fix = done.stderr.splitlines()[-2:]
    assert what == "error: secret:own is for 127.0.0.1, and now localhost is to get it"
    assert fix.endswith("limnos secrets allow secret:own localhost")
    assert limnos(tmp_path, *fix.rpartition("limnos ")[2].split()).returncode == 0
    assert "is for" not in limnos(tmp_path, "run", "hello", "--model", "own/m").stderr


def test_an_error_hides_what_is_stored(tmp_path: Path) -> None:
    limnos(tmp_path, "secrets", "set", "own", given="bluefish-lake")
    done = limnos(tmp_path, "config", "set", "mode", "bluefish-lake")

    assert done.returncode == 2
    assert "[hidden: configured value]" in done.stderr
    assert "bluefish" not in done.stderr


def test_a_keyring_that_cannot_be_used_is_an_error_with_the_way_back(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secrets.toml").write_text("[keyring]\n")
    (tmp_path / "home" / "secrets.toml").chmod(0o600)
    done = limnos(
        tmp_path, "secrets", "set", "own", given=VALUE, PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring"
    )

    assert done.returncode == 2
    assert "error: this machine has no keyring that can be used" in done.stderr
    assert "remove [keyring] from" in done.stderr
    assert VALUE not in (tmp_path / "home" / "secrets.toml").read_text() + done.stderr
