"""The door to a person's files: what is inside, what is refused, and that nothing hangs."""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.sdk import contents
from limnos.sdk.files import Files, shown
from tests.sdk.ways import WAYS, go
from tests.store.disks import full_disk


@contextmanager
def refused(reason: str) -> Iterator[None]:
    """Expect a failure of this class with a hint."""
    with pytest.raises(ToolFailure) as caught:
        yield
    assert caught.value.error.reason == reason, caught.value.error
    assert caught.value.error.detail
    assert caught.value.error.hint


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    go(request.param, monkeypatch)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha")
    (tmp_path / "outside.txt").write_text("not yours")
    return folder


@pytest.mark.parametrize("path", ["a.txt", "./a.txt", "sub/../a.txt", "sub/./.././a.txt", "{root}/a.txt"])
def test_a_file_inside_is_read_however_it_is_named(root: Path, path: str) -> None:
    files = Files(root)

    assert files.read(path.format(root=root)) == b"alpha"
    assert files.name(path.format(root=root)) == "a.txt"


@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "/etc/hostname", "sub/../../outside.txt", "{root}x/b", "link", "folder/outside.txt"],
)
def test_what_lies_outside_is_neither_read_nor_written_nor_listed(root: Path, path: str) -> None:
    (root / "link").symlink_to("../outside.txt")
    (root / "folder").symlink_to("..")
    files, path = Files(root), path.format(root=root)

    with refused("refused"):
        files.read(path)
    with refused("refused"):
        files.write(path, b"mine now")
    with refused("refused"):
        files.list(path)
    with refused("refused"):
        list(files.walk(path))
    assert (root.parent / "outside.txt").read_text() == "not yours"


def test_a_link_that_stays_inside_is_followed_and_stays_a_link(root: Path) -> None:
    (root / "link").symlink_to("a.txt")
    files = Files(root)

    assert files.read("link") == b"alpha"
    assert not files.write("link", b"beta")

    assert (root / "link").is_symlink()
    assert (root / "a.txt").read_bytes() == b"beta"


def test_a_link_that_leads_nowhere_inside_makes_its_target(root: Path) -> None:
    (root / "link").symlink_to("new.txt")

    assert Files(root).write("link", b"x")
    assert (root / "new.txt").read_bytes() == b"x"


def test_links_in_a_circle_are_a_failure(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")

    with pytest.raises(ToolFailure):
        Files(root).read("one")
    with pytest.raises(ToolFailure):
        Files(root).write("one", b"x")


def test_pipes_sockets_and_devices_are_refused_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(root)  # the name of a socket has at most 107 bytes
        server.bind("socket")
        files = Files(root)
        for name in ("pipe", "socket", "zero"):
            with pytest.raises(ToolFailure):
                files.read(name)
            with refused("refused"):
                files.write(name, b"x")
    kinds = {entry.name: entry.kind for entry in files.list(".")}

    assert (kinds["pipe"], kinds["socket"], kinds["zero"]) == ("special", "special", "link")
    assert [name for name, _ in files.walk(".")] == ["a.txt"]


def test_a_file_that_gives_nothing_without_waiting_is_a_failure(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # what /proc/kmsg and its like are to root: a regular file whose read would wait
    def would_wait(descriptor: int, size: int) -> bytes:
        raise BlockingIOError

    files = Files(root)
    monkeypatch.setattr(os, "read", would_wait)

    with refused("failed"):
        files.read("a.txt")


def test_a_folder_is_refused_as_a_file_and_no_descriptor_is_left_open(root: Path) -> None:
    files, before = Files(root), set(os.listdir("/proc/self/fd"))

    for _ in range(3):
        with pytest.raises(ToolFailure, match="folder"):
            files.read("sub")

    assert set(os.listdir("/proc/self/fd")) == before


def test_the_state_of_limnos_is_refused_also_through_links_and_left_out_of_walks(root: Path) -> None:
    home = root / ".limnos"
    home.mkdir()
    (home / "secrets.toml").write_text("secret")
    (root / "way").symlink_to(".limnos")
    files = Files(root, refused=(home,))

    for path in (".limnos/secrets.toml", "way/secrets.toml", "sub/../.limnos/new", ".limnos"):
        with refused("refused"):
            files.read(path)
        with refused("refused"):
            files.write(path, b"x")
    assert [name for name, _ in files.walk(".")] == ["a.txt"]


def test_missing_folders_are_made_and_the_answer_says_whether_the_file_is_new(root: Path) -> None:
    files = Files(root)

    assert files.write("x/y/z.txt", b"1")
    assert not files.write("x/y/z.txt", b"2")
    assert (root / "x/y/z.txt").read_bytes() == b"2"
    assert sorted(path.name for path in (root / "x/y").iterdir()) == ["z.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o755, 0o444, 0o4755])
def test_a_replaced_file_keeps_its_rights_but_for_set_user(root: Path, mode: int) -> None:
    (root / "a.txt").chmod(mode)

    Files(root).write("a.txt", b"x")

    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == mode & 0o777


def test_a_new_file_has_the_usual_rights(root: Path) -> None:
    kept = os.umask(0o027)
    try:
        Files(root).write("new.txt", b"x")
    finally:
        os.umask(kept)

    assert stat.S_IMODE((root / "new.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["字" * 84, "é" * 120, "a" * 255])
def test_a_name_may_be_as_long_as_the_disk_allows(root: Path, name: str) -> None:
    assert Files(root).write(name, b"x")
    assert (root / name).read_bytes() == b"x"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none.txt", "not_found"), ("sub", "failed"), ("a.txt/x", "failed"), ("x\x00y", "invalid_arguments"),
        ("n" * 300, "failed"), ("", "failed"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_why(root: Path, path: str, reason: str) -> None:
    with refused(reason):
        Files(root).read(path)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("sub", "failed"),
        ("a.txt/x", "failed"),
        ("x\x00y", "invalid_arguments"),
        ("n" * 300, "failed"),
        (".", "failed"),
    ],
)
def test_what_cannot_be_written_says_why_and_leaves_nothing(root: Path, path: str, reason: str) -> None:
    with refused(reason):
        Files(root).write(path, b"x")
    assert sorted(one.name for one in root.iterdir()) == ["a.txt", "sub"]


def test_a_disk_that_refuses_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        files = Files(disk.folder)
        files.write("a.txt", b"old")
        with disk.filled(10), refused("failed"):
            files.write("a.txt", b"n" * 100_000)
        assert [entry.name for entry in files.list(".")] == ["a.txt"]
        assert files.read("a.txt") == b"old"


def test_a_file_that_is_too_large_is_refused_before_it_is_read(root: Path) -> None:
    with (root / "big").open("wb") as file:
        file.truncate(30_000_000)

    with refused("refused"):
        Files(root).read("big")


def test_a_file_that_holds_more_than_its_size_said_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MAX_READ", 100)

    with refused("refused"):
        Files(Path("/proc/self")).read("status")


def test_names_that_are_no_text_are_listed_and_shown_with_escapes(root: Path) -> None:
    os.mkdir(os.path.join(os.fsencode(root), b"bad\xff"))
    (root / "two\nlines\x1b[31m").write_text("x")

    names = [entry.name for entry in Files(root).list(".")]

    assert {shown(name) for name in names} == {"bad\\xff", "two\\nlines\\x1b[31m", "a.txt", "sub"}
    "".join(map(shown, names)).encode()


def test_a_planted_link_beside_the_file_is_not_written_through(root: Path) -> None:
    for number in range(3):
        (root / f".a.txt.{os.getpid() + number}.draft").symlink_to("../outside.txt")

    Files(root).write("a.txt", b"x")

    assert (root.parent / "outside.txt").read_text() == "not yours"


def test_version_control_is_left_out_of_walks(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("x")
    (root / "sub" / "b.txt").write_text("y")

    assert list(Files(root).walk(".")) == [("a.txt", 5), ("sub/b.txt", 1)]
    assert list(Files(root).walk("a.txt")) == [("a.txt", 5)]
    with refused("not_found"):
        list(Files(root).walk("none"))
