"""Secrets: one private file, and no value anywhere else."""

import fcntl
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from limnos.kernel.errors import LimnosError, SettingsError, StorageError, UsageError
from limnos.store.secrets import Secrets

VALUE = "k-" + "q7" * 12


def test_a_secret_is_kept_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path / "home")
    secrets.set("deepseek", f"  {VALUE}\n")

    assert Secrets(tmp_path / "home").get("deepseek") == VALUE
    assert stat.S_IMODE((tmp_path / "home" / "secrets.toml").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700
    assert secrets.names() == ["deepseek"]
    assert secrets.last_four("deepseek") == VALUE[-4:]
    assert secrets.last_four("other") == "****"


def test_a_removed_secret_is_gone_and_the_others_stay(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path)
    secrets.set("one", VALUE)
    secrets.set("two", VALUE + "2")

    assert secrets.remove("one")
    assert not secrets.remove("one")
    assert secrets.names() == ["two"]
    assert VALUE.encode() + b'"' not in (tmp_path / "secrets.toml").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["secrets.toml"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602])
def test_a_file_that_others_can_reach_is_refused_with_the_command_that_mends_it(
    tmp_path: Path, mode: int
) -> None:
    secrets = Secrets(tmp_path)
    secrets.set("one", VALUE)
    (tmp_path / "secrets.toml").chmod(mode)

    for attempt in (lambda: secrets.get("one"), lambda: secrets.set("two", VALUE)):
        with pytest.raises(SettingsError) as caught:
            attempt()
        assert "chmod 600" in caught.value.fix


@pytest.mark.parametrize(
    "value", ["", "   ", "two\nlines" + VALUE, VALUE + "\x1b[0m", VALUE + "\x00x", VALUE + "\u202ex"]
)
def test_a_value_with_control_characters_is_refused_and_not_repeated(tmp_path: Path, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        Secrets(tmp_path).set("one", value)

    assert VALUE not in caught.value.what + caught.value.fix
    assert not (tmp_path / "secrets.toml").exists()


@pytest.mark.parametrize("name", ["", "a b", "../x", "a.b", "x" * 65, "ä", "name\n", "uses", "keyring"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        Secrets(tmp_path).set(name, VALUE)


@pytest.mark.parametrize(
    "content",
    [f'one = "{VALUE}', f"{VALUE}\n", f'one = "{VALUE}\xff"', "a = " + "9" * 5000, "a = " + "[" * 5000],
    ids=["open quote", "no value", "no text", "endless digits", "deep brackets"],
)
def test_a_broken_file_is_an_error_that_does_not_show_what_is_in_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secrets.toml"
    path.write_bytes(content.encode("latin-1"))
    path.chmod(0o600)

    with pytest.raises(LimnosError) as caught:
        Secrets(tmp_path).get("one")

    assert VALUE not in f"{caught.value.what} {caught.value.fix} {caught.value.__cause__} {caught.value}"


def test_quotes_and_backslashes_come_back_as_they_were(tmp_path: Path) -> None:
    odd = "a\"b\\c'd#e=f [g]"
    Secrets(tmp_path).set("odd", odd)

    assert Secrets(tmp_path).get("odd") == odd


def test_a_home_that_is_a_file_has_no_secrets_and_takes_none(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")

    assert Secrets(tmp_path / "home").get("one") is None
    with pytest.raises(StorageError):
        Secrets(tmp_path / "home").set("one", VALUE)


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secrets.toml", 0o600)

    with pytest.raises(StorageError, match="regular"):
        Secrets(tmp_path).names()


@pytest.mark.parametrize("content", ['uses = "x"', "keyring = 1", "[uses]\none = 1", "[keyring]\nnames = 2"])
def test_a_table_that_is_none_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "secrets.toml").write_text(content)
    (tmp_path / "secrets.toml").chmod(0o600)

    with pytest.raises(SettingsError) as caught:
        Secrets(tmp_path).names()

    assert caught.value.fix


def test_writers_at_the_same_time_do_not_lose_the_values_of_each_other(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pathlib import Path\nfrom limnos.store.secrets import Secrets\n"
        "home, name = Path(sys.argv[1]), sys.argv[2]\n"
        "for n in range(10): Secrets(home).set(f'{name}-{n}', f'value of {name}')\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), f"w{number}"]) for number in range(4)
    ]

    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(Secrets(tmp_path).names()) == 40


def test_a_writer_that_never_ends_is_not_waited_for_without_end(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path, lock_seconds=0.05)
    secrets.set("one", VALUE)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        with pytest.raises(StorageError, match="being changed by another program"):
            secrets.set("two", VALUE)
        assert secrets.names() == ["one"]
    finally:
        os.close(descriptor)
    secrets.set("two", VALUE)
