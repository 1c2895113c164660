"""Archives of strangers: all is unpacked, or nothing, and a reason names the entry or the limit."""

import gzip
import io
import os
import random
import stat
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.kernel.errors import LimnosError
from limnos.sdk.archives import ArchiveRefusedError, Limits, unpack
from limnos.testing.case_kinds.archives import build, check
from tests.conftest import SHARED
from tests.sdk.cases import read_lines
from tests.store.disks import full_disk

CASES = read_lines(SHARED / "cases" / "archives.jsonl")
FORMATS = ("zip", "wheel", "hmap", "tar", "tgz")
SUFFIXES = {"zip": ".zip", "wheel": ".whl", "hmap": ".hmap", "tar": ".tar", "tgz": ".tgz"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_archives_of_the_shared_cases(case: dict[str, Any]) -> None:
    assert check(case) is None


def made(folder: Path, form: str, *entries: dict[str, Any]) -> Path:
    path = folder / f"made{SUFFIXES[form]}"
    build(path, {"format": form, "entries": [{"type": "file", **entry} for entry in entries]})
    return path


def refusal(archive: Path, target: Path, limits: Limits | None = None) -> str:
    """Why it is refused; nothing is left in the target or beside it."""
    beside = sorted(os.listdir(archive.parent))
    with pytest.raises(ArchiveRefusedError) as caught:
        unpack(archive, target, limits)
    assert caught.value.fix
    assert archive.name in caught.value.what
    assert sorted(os.listdir(archive.parent)) == beside
    assert not target.exists() or not os.listdir(target)
    return caught.value.what


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["a/../b"], "leads out"), (["..", "a"], "leads out"), (["a/.."], "leads out"), (["/a"], "absolute"),
        (["//host/a"], "absolute"), (["a\\b"], "another system"), (["c:evil"], "another system"),
        (["a\nb"], "control"), (["x" * 256], "too long"), (["d/" * 120 + "f"], "too long"),
        (["A.txt", "a.txt"], "ignore case"), (["\u00e9", "e\u0301"], "ignore"), (["D/a", "d/b"], "ignore"),
        (["\u00df", "SS"], "ignore case"), (["a", "a/b"], "at once"), (["a/b", "a"], "at once"),
        (["a", "a"], "twice"), (["a", "./a"], "twice"), (["a", "b//c", "b/c"], "twice"), (["."], "no name"),
    ],
)  # fmt: skip
def test_a_name_that_is_not_right_is_refused_by_name(
    tmp_path: Path, form: str, names: list[str], says: str
) -> None:
    archive = made(tmp_path, form, *({"name": name} for name in ["ok.txt", *names]))

    assert says in refusal(archive, tmp_path / "target")


@pytest.mark.parametrize("kind", ["symlink", "hardlink", "fifo", "device"])
def test_links_and_special_files_are_refused_in_a_tar_also_when_they_lead_inside(
    tmp_path: Path, kind: str
) -> None:
    archive = made(tmp_path, "tgz", {"name": "a"}, {"name": "b", "type": kind, "target": "a"})

    assert "'b' is a link or a special file" in refusal(archive, tmp_path / "target")


@pytest.mark.parametrize("name", ["m/x.pth", "x.PTH", "sitecustomize.py", "p.data/purelib/usercustomize.pyc"])
def test_what_an_interpreter_would_run_at_start_is_refused_in_a_wheel_only(tmp_path: Path, name: str) -> None:
    assert "at every start" in refusal(made(tmp_path, "wheel", {"name": name}), tmp_path / "target")
    assert unpack(made(tmp_path, "zip", {"name": name}), tmp_path / "target") == 1


@pytest.mark.parametrize("form", ["tar", "zip"])
@pytest.mark.parametrize(("mode", "kept"), [(0o7777, 0o700), (0o644, 0o600), (0o000, 0o600), (0o111, 0o700)])
def test_only_the_owners_part_of_a_mode_is_kept(tmp_path: Path, form: str, mode: int, kept: int) -> None:
    unpack(made(tmp_path, form, {"name": "d/x", "mode": mode}), tmp_path / "target")

    assert stat.S_IMODE((tmp_path / "target" / "d" / "x").stat().st_mode) == kept
    assert stat.S_IMODE((tmp_path / "target" / "d").stat().st_mode) == 0o700


@pytest.mark.parametrize("form", FORMATS)
def test_limits_are_kept_to_the_last_one(tmp_path: Path, form: str) -> None:
    archive = made(tmp_path, form, {"name": "f{n}", "repeat": 5, "size": 100})

    assert "more than 4 entries" in refusal(archive, tmp_path / "target", Limits(entries=4))
    assert "more than 499 bytes" in refusal(archive, tmp_path / "target", Limits(bytes=499))
    assert unpack(archive, tmp_path / "target", Limits(entries=5, bytes=500)) == 5


def test_a_target_that_is_there_keeps_its_rights_and_one_that_is_not_empty_is_left_alone(
    tmp_path: Path,
) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o750)
    archive = made(tmp_path, "tar", {"name": "./a/b.txt"}, {"name": "./", "type": "dir"})

    assert unpack(archive, target) == 1
    assert stat.S_IMODE(target.stat().st_mode) == 0o750
    with pytest.raises(LimnosError, match="no empty folder"):
        unpack(archive, target)
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(LimnosError, match="no empty folder"):
        unpack(archive, tmp_path / "link")
    with pytest.raises(LimnosError, match="could not be unpacked"):
        unpack(archive, tmp_path / "none" / "target")
    with pytest.raises(LimnosError, match="could not be unpacked"):
        unpack(tmp_path / "none.zip", tmp_path / "target2")


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path) -> None:
    archive = made(tmp_path, "zip", {"name": "a", "size": 5_000_000})
    with full_disk(tmp_path / "disk") as disk, disk.filled(100_000):
        with pytest.raises(LimnosError, match="could not be unpacked"):
            unpack(archive, disk.folder / "target")
        assert not [name for name in os.listdir(disk.folder) if name != "filler"]


def test_a_small_archive_that_grows_without_end_is_stopped_early(tmp_path: Path) -> None:
    archive = tmp_path / "bomb.tgz"
    with gzip.open(archive, "wb") as file:
        file.write(tarfile.TarInfo("a").tobuf()[:512])
        for _ in range(64):
            file.write(bytes(1 << 20))
    header = tarfile.TarInfo("big")
    header.type, header.size = tarfile.XHDTYPE, 900_000_000
    extended = tmp_path / "header.tgz"
    with gzip.open(extended, "wb") as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        file.write(bytes(1 << 20))

    assert "behind its end" in refusal(archive, tmp_path / "target")
    assert "headers is too large" in refusal(extended, tmp_path / "other")


@pytest.mark.parametrize("form", ["zip", "tgz", "tar"])
@pytest.mark.parametrize("kept", [0, 1, 100, -600, -1])
def test_an_archive_that_was_cut_is_refused(tmp_path: Path, form: str, kept: int) -> None:
    archive = made(tmp_path, form, {"name": "a", "size": 40_000}, {"name": "b", "size": 40_000})
    archive.write_bytes(
        archive.read_bytes()[:kept] if form != "tar" or kept >= 0 else archive.read_bytes()[:81_900]
    )

    assert refusal(archive, tmp_path / "target")


def test_a_tar_without_its_end_is_refused_even_where_an_entry_ends(tmp_path: Path) -> None:
    archive = made(tmp_path, "tar", {"name": "a", "size": 512}, {"name": "b", "size": 512})
    archive.write_bytes(archive.read_bytes()[:1024])

    assert "its end is missing" in refusal(archive, tmp_path / "target")


def test_members_that_share_their_bytes_do_not_add_up_to_a_bomb(tmp_path: Path) -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0", bytes(50_000))
        first = archive.infolist()[0]
        for number in range(1, 200):
            twin = zipfile.ZipInfo(str(number))
            for name in ("CRC", "compress_size", "file_size", "header_offset", "compress_type"):
                setattr(twin, name, getattr(first, name))
            archive.filelist.append(twin)
            archive.NameToInfo[twin.filename] = twin
    path = tmp_path / "overlap.zip"
    path.write_bytes(held.getvalue())

    assert refusal(path, tmp_path / "target")


def test_encrypted_and_oddly_packed_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "odd.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("a", b"x" * 100)
    assert "'a' is packed" in refusal(path, tmp_path / "target")
    data = bytearray(made(tmp_path, "zip", {"name": "b"}).read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(mark) + place, 1)
    path.write_bytes(data)
    assert "'b' is encrypted" in refusal(path, tmp_path / "target")


def test_a_library_that_trusts_is_fooled_by_the_same_archive(tmp_path: Path) -> None:
    archive = made(tmp_path, "tar", {"name": "d", "type": "symlink", "target": ".."}, {"name": "d/evil"})
    (tmp_path / "trusting").mkdir()

    with tarfile.open(archive) as opened:
        opened.extraction_filter = lambda entry, path: entry  # older ones trust anyway
        for entry in opened:
            opened.extract(entry, tmp_path / "trusting")

    assert (tmp_path / "evil").exists()
    (tmp_path / "evil").unlink()
    assert refusal(archive, tmp_path / "target")
    assert not (tmp_path / "evil").exists()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["zip", "tgz", "tar"]), st.integers(0, 2**32), st.integers(1, 12))
def test_damaged_bytes_give_the_files_or_a_reason(
    tmp_path_factory: pytest.TempPathFactory, form: str, seed: int, times: int
) -> None:
    folder, chance = tmp_path_factory.mktemp("damaged"), random.Random(seed)
    archive = made(folder, form, {"name": "d/a.txt", "size": 300}, {"name": "b.txt", "size": 2000})
    data = bytearray(archive.read_bytes())
    for _ in range(times):
        data[chance.randrange(len(data))] = chance.randrange(256)
    archive.write_bytes(data)

    said = ""
    try:
        unpack(archive, folder / "target")
    except LimnosError as error:
        said = error.what
    assert archive.name in said or not said
    assert sorted(os.listdir(folder)) == sorted([archive.name, *([] if said else ["target"])])
