"""Tracebacks are kept for a report, few and private."""

import os
from pathlib import Path

from limnos.agent.settings import read_environment
from limnos.frontends.cli.error_log import KEPT, clean, keep
from limnos.store.secrets import Secrets


def test_the_newest_tracebacks_are_kept_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        paths = [keep(tmp_path / "home", f"mistake {n}") for n in range(KEPT + 5)]
    finally:
        os.umask(before)
    assert sorted((tmp_path / "home" / "logs").iterdir()) == paths[5:]
    assert paths[-1] is not None
    assert paths[-1].read_text() == f"mistake {KEPT + 4}"
    places = (paths[-1], paths[-1].parent, tmp_path / "home")
    assert [place.stat().st_mode & 0o777 for place in places] == [0o600, 0o700, 0o700]


def test_a_home_that_cannot_be_written_is_no_second_mistake(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    assert keep(tmp_path / "home", "mistake") is None


def test_a_traceback_is_kept_without_secrets(tmp_path: Path) -> None:
    environment = read_environment({"HOME": str(tmp_path)})
    Secrets(environment.home).set("own", "plain-words-of-lake")
    key = "sk-" + "Zq7wX2" * 8

    text = clean(
        environment,
        f"File x, line 1\nValueError: plain-words-of-lake, {key}, {b'plain-words-of-lake'.hex()}",
    )

    assert text.startswith(
        "File x, line 1\nValueError: [hidden: configured value], [hidden: api key], [hidden"
    )
    assert "plain-words" not in text
