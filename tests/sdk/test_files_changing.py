"""A change of a file is whole, is of what was read, and never costs somebody else's work."""

import os
import stat
from pathlib import Path

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.sdk import contents
from limnos.sdk.files import Files
from tests.sdk.ways import WAYS, go


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    go(request.param, monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("one")
    return tmp_path


@pytest.mark.parametrize("how", ["in place", "by renaming", "gone", "to a folder", "to a link"])
def test_what_somebody_else_did_while_a_change_was_made_is_kept(root: Path, how: str) -> None:
    path = root / "a.txt"

    def meanwhile(before: bytes | None) -> bytes:
        if how == "in place":
            path.write_text("hers")
        else:
            path.rename(root / "old")
        if how == "by renaming":
            path.write_text("hers")
        elif how == "to a folder":
            path.mkdir()
        elif how == "to a link":
            path.symlink_to("old")
        return b"ours"

    with pytest.raises(ToolFailure, match="by somebody else"):
        Files(root).change("a.txt", meanwhile)

    assert b"ours" not in [one.read_bytes() for one in root.iterdir() if one.is_file()]
    assert not [name for name in os.listdir(root) if contents.is_draft(name)]
    if how in ("in place", "by renaming"):
        assert path.read_text() == "hers"


def test_a_new_file_does_not_replace_one_that_came_meanwhile(root: Path) -> None:
    def meanwhile(before: bytes | None) -> bytes:
        (root / "new.txt").write_text("hers")
        return b"ours"

    with pytest.raises(ToolFailure, match="by somebody else"):
        Files(root).change("new.txt", meanwhile)
    assert (root / "new.txt").read_text() == "hers"


def test_a_path_that_leads_elsewhere_than_was_agreed_to_is_not_written(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    files = Files(root)
    agreed = files.name("link")
    (root / "link").unlink()
    (root / "link").symlink_to("sub/b.txt")

    with pytest.raises(ToolFailure, match="by somebody else"):
        files.change("link", lambda _: b"x", at=agreed)
    assert not (root / "sub" / "b.txt").exists()
    assert files.change("link", lambda _: b"x", at="sub/b.txt")


def test_a_folder_that_was_moved_out_meanwhile_is_not_written_into(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "sub").mkdir(parents=True)

    def move(before: bytes | None) -> bytes:
        (root / "sub").rename(tmp_path / "away")
        return b"x"

    with pytest.raises(ToolFailure):
        Files(root).change("sub/a.txt", move)
    assert os.listdir(tmp_path / "away") == []


def test_changes_are_told_with_the_resolved_name_and_both_contents(root: Path) -> None:
    told: list[tuple[str, bytes | None, bytes | None]] = []
    (root / "link").symlink_to("a.txt")
    files = Files(root, on_change=lambda name, before, after: told.append((name, before, after)))

    files.write("link", b"two")
    files.write("sub/new.txt", b"x")
    files.remove("./sub/new.txt")
    files.restore("a.txt", b"one", instead_of=b"two")

    assert told == [("a.txt", b"one", b"two"), ("sub/new.txt", None, b"x"), ("sub/new.txt", b"x", None)]


def test_a_change_that_failed_is_not_told(root: Path) -> None:
    told: list[str] = []
    files = Files(root, on_change=lambda name, before, after: told.append(name))

    with pytest.raises(ToolFailure):
        files.write("sub", b"x")
    with pytest.raises(ToolFailure):
        files.remove("none.txt")
    assert told == []


def test_a_removed_file_is_gone_and_a_folder_is_not_removed(root: Path) -> None:
    files = Files(root)

    files.remove("a.txt")

    assert os.listdir(root) == ["sub"]
    with pytest.raises(ToolFailure):
        files.remove("sub")
    with pytest.raises(ToolFailure):
        files.remove(".")


def test_drafts_of_killed_writers_go_with_the_next_write_and_nothing_else_does(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft, link = root / ".limnos-0123456789ab.draft", root / ".limnos-ffffffffffff.draft"
    draft.write_text("half")
    link.symlink_to("a.txt")
    for name in (".limnos-xyz.draft", ".limnos-0123456789ab.draft.txt", "0123456789ab.draft"):
        (root / name).write_text("a person's")
    before = set(os.listdir(root))

    Files(root).write("a.txt", b"two")
    assert set(os.listdir(root)) == before  # it may be of a writer that lives
    monkeypatch.setattr(contents, "DRAFT_AGE_NS", -(10**9))
    Files(root).write("a.txt", b"three")

    assert set(os.listdir(root)) == before - {draft.name}


def test_the_usual_rights_and_set_user_bits_of_a_file_are_not_brought_back_by_restoring(root: Path) -> None:
    (root / "a.txt").chmod(0o4755)

    Files(root).restore("a.txt", b"zero", instead_of=b"one")

    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o755


def test_no_descriptor_is_left_open_by_anything(root: Path) -> None:
    (root / "link").symlink_to("sub")
    files, before = Files(root), set(os.listdir("/proc/self/fd"))

    for path in ("a.txt", "sub", "link/x", "../x", "none/x", "sub/n/e/w.txt", "link/../a.txt"):
        for work in (
            files.name, files.read, files.list, files.near, files.protected,
            lambda path: list(files.walk(path)),
            lambda path: files.write(path, b"x"),
            lambda path: files.restore(path, b"y", instead_of=b"x"),
            files.remove,
        ):  # fmt: skip
            try:
                work(path)
            except ToolFailure:
                continue

    assert set(os.listdir("/proc/self/fd")) == before
