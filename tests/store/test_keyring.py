"""Secrets in the keyring of the system: the same promises as the file, and clear words when there is none."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.kernel.errors import SettingsError, UsageError
from limnos.store.keyring import Keyring
from limnos.store.secrets import Secrets

from .keyrings import InMemory, Plain, Silent, using

VALUE = "k-" + "q7" * 12
NEXT = "k-" + "r8" * 12
KINDS = ["file", "keyring"]


@contextmanager
def a_store(kind: str, home: Path) -> Iterator[Secrets]:
    """An empty store with its values in the file or in a keyring, as its file says."""
    if kind == "keyring":
        home.mkdir(mode=0o700)
        (home / "secrets.toml").write_text("[keyring]\n")
        (home / "secrets.toml").chmod(0o600)
    with using(InMemory()):
        yield Secrets(home)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_set_is_listed_given_rotated_and_removed(tmp_path: Path, kind: str) -> None:
    with a_store(kind, tmp_path / "home") as secrets:
        secrets.set("one", VALUE)
        secrets.set("two", f" {VALUE}2\n")
        assert secrets.names() == ["one", "two"]
        assert secrets.values() == {"one": VALUE, "two": VALUE + "2"}
        secrets.rotate("one", NEXT)
        assert Secrets(tmp_path / "home").get("one") == NEXT
        assert secrets.last_four("one") == NEXT[-4:]
        assert secrets.remove("two")
        assert not secrets.remove("two")
        assert secrets.names() == ["one"]
        assert secrets.get("two") is None


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_there_is_rotated(tmp_path: Path, kind: str) -> None:
    with a_store(kind, tmp_path / "home") as secrets:
        for attempt in (lambda: secrets.rotate("one", VALUE), lambda: secrets.require("one")):
            with pytest.raises(UsageError) as caught:
                attempt()
            assert "limnos secrets set NAME" in caught.value.fix
            assert "one" not in caught.value.what
        assert secrets.names() == []


@pytest.mark.parametrize("kind", KINDS)
def test_uses_are_kept_beside_the_values_and_go_with_them(tmp_path: Path, kind: str) -> None:
    with a_store(kind, tmp_path / "home") as secrets:
        secrets.set("one", VALUE)
        assert secrets.bind("secret:one", "a.test") == ("a.test",)
        assert secrets.bind("secret:one", "b.test") == ("a.test",)
        secrets.allow("secret:one", "b.test")
        secrets.rotate("one", NEXT)
        assert secrets.uses("secret:one") == ("a.test", "b.test")
        secrets.remove("one")
        assert secrets.uses("secret:one") == ()


def test_the_file_holds_names_and_no_value_when_there_is_a_keyring(tmp_path: Path) -> None:
    with a_store("keyring", tmp_path / "home") as secrets:
        secrets.set("one", VALUE)

        assert VALUE not in (tmp_path / "home" / "secrets.toml").read_text()
        assert 'names = ["one"]' in (tmp_path / "home" / "secrets.toml").read_text()


def test_a_value_of_the_file_stays_until_it_is_set_anew(tmp_path: Path) -> None:
    secrets = Secrets(tmp_path)
    secrets.set("old", VALUE)
    with using(InMemory()):
        (tmp_path / "secrets.toml").write_text((tmp_path / "secrets.toml").read_text() + "[keyring]\n")
        assert secrets.get("old") == VALUE
        secrets.set("old", NEXT)
        assert secrets.get("old") == NEXT
    text = (tmp_path / "secrets.toml").read_text()
    assert VALUE not in text
    assert NEXT not in text


def test_two_homes_do_not_share_entries(tmp_path: Path) -> None:
    with using(InMemory()):
        Keyring(tmp_path / "a").set("one", VALUE)
        assert Keyring(tmp_path / "b").get("one") is None


def test_a_vault_that_is_given_is_used_without_a_word_in_the_file(tmp_path: Path) -> None:
    with using(InMemory()):
        secrets = Secrets(tmp_path, vault=Keyring(tmp_path))
        secrets.set("one", VALUE)
        assert Secrets(tmp_path).get("one") == VALUE
    assert VALUE not in (tmp_path / "secrets.toml").read_text()


def _refused(home: Path) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        Keyring(home, seconds=0.05).set("one", VALUE)
    assert VALUE not in caught.value.what + caught.value.fix
    assert "remove [keyring] from" in caught.value.fix
    return caught.value


def test_a_machine_without_a_usable_keyring_is_told_what_to_do(tmp_path: Path) -> None:
    with using(Plain()):
        assert "no keyring that can be used" in _refused(tmp_path).what


def test_a_locked_keyring_is_an_error_and_nothing_is_listed(tmp_path: Path) -> None:
    with using(InMemory(locked=True)):
        assert "PasswordSetError" in _refused(tmp_path).what
        with pytest.raises(SettingsError):
            Secrets(tmp_path, vault=Keyring(tmp_path)).set("one", VALUE)
    assert Secrets(tmp_path).names() == []


def test_a_keyring_that_never_answers_is_not_waited_for_without_end(tmp_path: Path) -> None:
    silent = Silent()
    with using(silent), pytest.raises(SettingsError) as caught:
        Keyring(tmp_path, seconds=0.05).get("one")
    silent.ended.set()

    assert "did not answer within 0.05 s" in caught.value.what


def test_without_the_library_the_error_names_the_command_that_installs_it(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['keyring'] = None\n"
        "from pathlib import Path\n"
        "from limnos.store.secrets import Secrets\n"
        "from limnos.kernel.errors import SettingsError\n"
        f"home = Path({str(tmp_path)!r})\n"
        "(home / 'secrets.toml').write_text('[keyring]\\nnames = [\"one\"]\\n')\n"
        "(home / 'secrets.toml').chmod(0o600)\n"
        "print(Secrets(home).names())\n"
        "try: Secrets(home).get('one')\n"
        "except SettingsError as error: print(error.fix)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout.startswith("['one']\npip install 'limnos[keyring]', or remove [keyring]")
