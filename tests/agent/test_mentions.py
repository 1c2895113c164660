"""A message's words that are names in the working folder."""

import os
from pathlib import Path

import pytest

from limnos.agent.mentions import MOST, mentioned


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name in (
        "go.mod",
        "README.md",
        "invoices/may.csv",
        "成绩/三班.csv",
        "a/util.py",
        "b/util.py",
        ".git/config",
        "tests/files/x",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return str(tmp_path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which Go version does go.mod ask for?", ["go.mod"]),
        ("what stands in readme.md", ["README.md"]),
        ("names of the things under invoices please", ["invoices/"]),
        ("sum up invoices/may.csv", ["invoices/may.csv"]),
        ("sum up may.csv", ["invoices/may.csv"]),
        ("成绩目录里都有啥", ["成绩/"]),
        ("compare util.py with go.mod", ["a/util.py", "b/util.py", "go.mod"]),
        ("the algorithm of go.models and config", []),
        ("list the files and look into tests/files", ["tests/files/"]),
        ("list the files", []),
        ("a b", []),
        ("", []),
    ],
)
def test_paths_of_the_folder_are_found_in_a_message_as_people_write_them(
    folder: str, text: str, names: list[str]
) -> None:
    assert mentioned(text, folder) == names


def test_only_a_few_names_are_told_and_none_can_break_the_line(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"n{number:02}").touch()
    (tmp_path / "two\nlines").touch()

    assert len(mentioned(" ".join(f"n{number:02}" for number in range(20)), str(tmp_path))) == MOST
    assert mentioned("what is two\nlines", str(tmp_path)) == ["two\\nlines"]


def test_what_cannot_be_looked_into_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkdir(tmp_path / "deep")

    assert mentioned("deep", str(tmp_path / "absent")) == []
    assert mentioned("loop", str(tmp_path)) == ["loop"]
