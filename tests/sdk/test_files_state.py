"""What belongs to limnos is refused under every name it can have; what runs later is told apart."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.sdk import refused
from limnos.sdk.files import Files
from tests.sdk.ways import WAYS, go


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    go(request.param, monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / ".limnos" / "deep" / "er").mkdir(parents=True)
    (folder / ".limnos" / "secrets.toml").write_text("secret")
    (folder / ".limnos" / "deep" / "er" / "rules.toml").write_text("secret")
    (folder / "a.txt").write_text("alpha")
    return folder


def require_refused(files: Files, path: str) -> None:
    for work in (
        lambda: files.read(path),
        lambda: files.write(path, b"x"),
        lambda: files.change(path, lambda _: b"x"),
        lambda: files.remove(path),
        lambda: files.restore(path, b"x", instead_of=b"secret"),
        lambda: files.restore(path, None, instead_of=b"secret"),
    ):
        with pytest.raises(ToolFailure, match="limnos itself"):
            work()


@contextmanager
def second_name(folder: Path, name: Path) -> Iterator[None]:
    """`folder` under another name too, as a mount; where that is not allowed it only has the other name."""
    mount = ("mount", "--bind", str(folder), str(name))
    name.mkdir()
    if os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0:
        try:
            yield
        finally:
            subprocess.run(["umount", "-l", str(name)], check=True)
        return
    name.rmdir()
    folder.rename(name)
    try:
        yield
    finally:
        name.rename(folder)


def test_the_state_is_refused_under_a_second_name_of_its_folder(root: Path) -> None:
    files = Files(root, (root / ".limnos",))
    with second_name(root / ".limnos", root / "innocent"):
        require_refused(files, "innocent/secrets.toml")
        require_refused(files, "innocent/deep/er/rules.toml")
        assert {name for name, _ in files.walk(".")} == {"a.txt"}
        with pytest.raises(ToolFailure, match="limnos itself"):
            files.list("innocent")
        with pytest.raises(ToolFailure, match="limnos itself"):
            files.name("innocent/deep")


def test_the_state_outside_of_the_root_is_refused_where_a_mount_brings_it_in(tmp_path: Path) -> None:
    root, home = tmp_path / "work", tmp_path / "home"
    (home / "deep").mkdir(parents=True)
    (home / "secrets.toml").write_text("secret")
    root.mkdir()
    files = Files(root, (home,))
    if os.geteuid() != 0:  # without a mount there is no way in
        require = pytest.raises(ToolFailure)
        with require:
            files.read("../home/secrets.toml")
        return
    with second_name(home, root / "in"):
        require_refused(files, "in/secrets.toml")
        require_refused(files, "in/deep/new")


def test_without_the_identity_a_second_name_would_open_the_state(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused.Refused, "identities", lambda _: frozenset())
    files = Files(root, (root / ".limnos",))
    with second_name(root / ".limnos", root / "innocent"):
        assert files.read("innocent/secrets.toml") == b"secret"


def test_a_root_inside_of_the_state_opens_nothing(root: Path) -> None:
    inside = Files(root / ".limnos" / "deep", (root / ".limnos",))

    with pytest.raises(ToolFailure, match="limnos itself"):
        inside.read("er/rules.toml")
    with pytest.raises(ToolFailure, match="limnos itself"):
        inside.list(".")


def test_several_folders_are_refused(root: Path) -> None:
    (root / "two").mkdir()
    (root / "two" / "x").write_text("secret")
    files = Files(root, (root / ".limnos", root / "two"))

    require_refused(files, "two/x")
    require_refused(files, ".limnos/secrets.toml")
    assert list(files.walk(".")) == [("a.txt", 5)]


def test_a_state_that_is_not_there_yet_cannot_be_made_not_even_in_another_case(tmp_path: Path) -> None:
    files = Files(tmp_path, (tmp_path / ".limnos",))

    for path in (".limnos/rules.toml", ".LIMNOS/rules.toml", "x/../.limnos/y", ".Limnos"):
        with pytest.raises(ToolFailure, match="limnos itself"):
            files.write(path, b"x")
    assert os.listdir(tmp_path) == []


def test_a_name_in_another_case_is_another_folder_where_the_disk_has_both(root: Path) -> None:
    files = Files(root, (root / ".limnos",))

    assert files.write(".LIMNOS/a.txt", b"x") is not (root / ".limnos" / "a.txt").exists()


def test_a_second_name_of_one_of_its_files_is_not_read_either(root: Path) -> None:
    os.link(root / ".limnos" / "secrets.toml", root / "twin")

    require_refused_read = pytest.raises(ToolFailure, match="limnos itself")
    with require_refused_read:
        Files(root, (root / ".limnos",)).read("twin")
    assert Files(root).read("twin") == b"secret"  # the negative twin: nothing else stops it


def test_a_root_that_was_replaced_is_said(root: Path) -> None:
    files = Files(root)
    root.rename(root.with_name("old"))

    with pytest.raises(ToolFailure, match="moved or replaced"):
        files.read("a.txt")
    root.mkdir()
    (root / "a.txt").write_text("another")
    for work in (lambda: files.read("a.txt"), lambda: files.list("."), lambda: files.write("a.txt", b"x")):
        with pytest.raises(ToolFailure, match="moved or replaced"):
            work()
    assert (root / "a.txt").read_text() == "another"


def test_a_root_that_is_not_there_is_said_and_used_once_it_is(tmp_path: Path) -> None:
    files = Files(tmp_path / "work")

    with pytest.raises(ToolFailure, match="work"):
        files.list(".")
    (tmp_path / "work").mkdir()
    assert files.write("a.txt", b"x")


def test_absolute_links_and_paths_are_followed_when_they_lead_inside(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "way").symlink_to("folder")
    (root / "absolute").symlink_to(root / "sub")
    (root / "around").symlink_to(tmp_path / "way" / "sub")
    (root / "out").symlink_to(tmp_path)
    files = Files(tmp_path / "way")

    assert files.write(str(tmp_path / "way" / "sub" / "a.txt"), b"x")
    assert files.read("absolute/a.txt") == files.read("around/a.txt") == b"x"
    assert files.name(str(root / "absolute" / "a.txt")) == "sub/a.txt"
    with pytest.raises(ToolFailure, match="outside"):
        files.read("out/folder/sub/a.txt/")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (".git/hooks/pre-commit", "git runs"), ("GIT/hooks/x", None), (".GIT/Config", "git takes"),
        ("way/pre-commit", "git runs"), ("sub/.bashrc", "shell"), (".mcp.json", "agent"), ("a.txt", None),
    ],
)  # fmt: skip
def test_a_write_that_decides_what_runs_later_is_named_also_through_links(
    root: Path, path: str, says: str | None
) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / "way").symlink_to(".git/hooks")

    reason = Files(root).protected(path)

    assert reason is None if says is None else reason is not None and says in reason
