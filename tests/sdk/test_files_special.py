"""Special files, odd names and huge folders: refused, or answered within two seconds, never a traceback."""

import os
import stat
import subprocess
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.sdk.files import MAX_ENTRIES, Files
from tests.sdk.ways import WAYS, go

MANY = 1_000_000
SECONDS = 2.0


@pytest.fixture(autouse=True, params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    go(request.param, monkeypatch)


@contextmanager
def soon() -> Iterator[None]:
    """Expect the end within two seconds of this process's own work."""
    start = time.process_time()
    yield
    assert time.process_time() - start < SECONDS


def outcome(work: Callable[[], object]) -> str:
    """`done`, or the reason of the failure."""
    try:
        work()
    except ToolFailure as failure:
        return failure.error.reason if failure.error.detail and failure.error.hint else "no reason given"
    return "done"


def every_operation(files: Files, path: str) -> dict[str, str]:
    """What each operation on `path` ends with; removing comes last."""
    operations: dict[str, Callable[[], object]] = {
        "name": lambda: files.name(path),
        "read": lambda: files.read(path),
        "write": lambda: files.write(path, b"x"),
        "change": lambda: files.change(path, lambda before: (before or b"") + b"x"),
        "list": lambda: files.list(path),
        "walk": lambda: list(files.walk(path)),
        "near": lambda: files.near(path),
        "protected": lambda: files.protected(path),
        "restore": lambda: files.restore(path, b"x", instead_of=b"y"),
        "remove": lambda: files.remove(path),
    }
    outcomes: dict[str, str] = {}
    for name, work in operations.items():
        with soon():
            outcomes[name] = outcome(work)
    return outcomes


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_plain_file_is_neither_opened_nor_waited_for(tmp_path: Path, kind: str) -> None:
    kinds = {"pipe": stat.S_IFIFO, "socket": stat.S_IFSOCK, "device": stat.S_IFIFO}
    device = os.makedev(1, 5) if os.geteuid() == 0 and kind == "device" else 0
    os.mknod(tmp_path / "odd", (stat.S_IFCHR if device else kinds[kind]) | 0o600, device)

    outcomes = every_operation(Files(tmp_path), "odd")

    for name in ("read", "write", "change", "walk", "restore", "remove"):
        assert outcomes[name] == "refused", name
    assert (tmp_path / "odd").exists()


def test_a_sparse_file_of_a_terabyte_is_refused_unread(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(1 << 40)

    outcomes = every_operation(Files(tmp_path), "huge")

    assert outcomes["read"] == outcomes["write"] == outcomes["remove"] == "refused"
    assert (tmp_path / "huge").stat().st_size == 1 << 40


@pytest.mark.parametrize(
    "path", ["status", "environ", "fd/0", "root/etc/hostname", "cwd/pyproject.toml", "exe"]
)
def test_files_of_the_kernel_are_read_within_bounds_and_its_links_are_not_followed(path: str) -> None:
    files = Files(Path("/proc/self"))

    with soon():
        read = outcome(lambda: files.read(path))
        written = outcome(lambda: files.write(path, b"x"))

    assert read in ("done", "refused", "failed", "not_found")
    assert ("/" in path or path == "exe") <= (read in ("refused", "failed", "not_found"))
    assert written != "done"


def test_a_file_with_a_second_name_is_read_but_not_changed_in_a_place_that_is_not_shown(
    tmp_path: Path,
) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "secret").write_text("mine")
    os.link(tmp_path / "secret", root / "twin")
    files = Files(root)

    for work in (
        lambda: files.write("twin", b"x"),
        lambda: files.change("twin", lambda _: b"x"),
        lambda: files.remove("twin"),
        lambda: files.restore("twin", b"x", instead_of=b"mine"),
    ):
        with pytest.raises(ToolFailure, match="hard links"):
            work()
    assert files.read("twin") == b"mine"
    assert (tmp_path / "secret").read_text() == "mine"
    assert (tmp_path / "secret").stat().st_nlink == 2


def test_folders_that_hold_themselves_end(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "again").symlink_to("..")
    (tmp_path / "a" / "f.txt").write_text("x")
    files = Files(tmp_path)

    with soon():
        assert list(files.walk(".")) == [("a/f.txt", 1)]
        assert files.read("a/again/" * 20 + "a/f.txt") == b"x"
        assert outcome(lambda: files.read("a/again/" * 41 + "a/f.txt")) == "failed"


def make_many(folder: Path, count: int) -> None:
    """So many empty files, fast: hard links of one are not enough for a disk, so tar makes them."""
    folder.mkdir()
    made = f"seq -f 'f%07.0f' 1 {count} | (cd '{folder}' && xargs -n 5000 touch)"
    subprocess.run(["bash", "-c", made], check=True, timeout=300)


@pytest.fixture(scope="session")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a million names, in memory where we may mount."""
    root = tmp_path_factory.mktemp("crowd")
    mount = ("mount", "-t", "tmpfs", "-o", "nr_inodes=2m", "tmpfs", str(root))
    mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        make_many(root / "big", MANY if mounted else MANY // 20)
        yield root
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(root)], check=True)


def test_a_folder_of_a_million_names_is_listed_walked_and_searched_in_part_and_says_so(crowd: Path) -> None:
    files, left_out = Files(crowd), set[str]()

    with soon():
        assert len(files.list("big")) == MAX_ENTRIES
    with soon():
        assert len(list(files.walk("big", left_out))) == MAX_ENTRIES
    with soon():
        assert files.near("big/f00001x") is not None
    with soon():
        assert files.write("big/new.txt", b"x")
        files.remove("big/new.txt")
    if len(os.listdir(crowd / "big")) == MANY:
        assert left_out == {"the rest of big"}


@pytest.mark.parametrize(
    "path", ["n" * 4096, "n/" * 2048, "a/" * 2000 + "f", "n" * 256, "../" * 2000, "字" * 86, "/" * 4096]
)
def test_names_that_no_disk_takes_are_failures(tmp_path: Path, path: str) -> None:
    outcomes = every_operation(Files(tmp_path), path)

    assert outcomes["read"] in ("failed", "not_found", "refused")
    assert "done" not in (outcomes["write"], outcomes["restore"], outcomes["remove"])


@pytest.mark.parametrize("path", ["\ud800.txt", "a\x00b", "a\nb", "\x1b[31m", "\x85"])
def test_names_that_are_no_text_to_show_are_refused(tmp_path: Path, path: str) -> None:
    assert set(every_operation(Files(tmp_path), path).values()) == {"invalid_arguments"}


def test_a_name_of_other_bytes_is_read_and_written_as_the_listing_gave_it(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")).write_text("x")
    files = Files(tmp_path)

    (entry,) = files.list(".")

    assert files.read(entry.name) == b"x"
    assert not files.write(entry.name, b"y")
    assert [name for name, _ in files.walk(".")] == [entry.name]


def test_twins_in_case_or_composition_are_two_files_where_the_disk_has_two(tmp_path: Path) -> None:
    names = ["é.txt", unicodedata.normalize("NFD", "é.txt"), "A.txt", "a.txt"]
    files = Files(tmp_path)
    for name in names:
        files.write(name, name.encode())

    on_disk = os.listdir(tmp_path)
    assert {name: files.read(name) for name in on_disk} == {
        name: (tmp_path / name).read_bytes() for name in on_disk
    }


def test_a_new_file_in_a_missing_folder_that_an_edit_refuses_leaves_no_folder(tmp_path: Path) -> None:
    def refuse(before: bytes | None) -> bytes:
        raise ToolFailure("not_found", "nothing to edit", "write it")

    with pytest.raises(ToolFailure, match="nothing to edit"):
        Files(tmp_path).change("x/y/z.txt", refuse)
    assert os.listdir(tmp_path) == []


def test_a_tree_that_is_too_deep_is_walked_in_part_and_says_so(tmp_path: Path) -> None:
    files, left_out = Files(tmp_path), set[str]()
    (tmp_path / ("d/" * 220)).mkdir(parents=True)
    files.write("d/" * 220 + "deep.txt", b"x")
    files.write("d/" * 199 + "high.txt", b"x")

    assert list(files.walk(".", left_out)) == [("d/" * 199 + "high.txt", 1)]
    assert left_out == {"the rest of " + "/".join("d" * 200)}
    assert files.read("d/" * 220 + "deep.txt") == b"x"
