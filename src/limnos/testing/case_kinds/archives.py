"""Cases `archives`: an archive built with libraries that allow everything, given to our unpacker."""

import io
import random
import stat
import struct
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from limnos.kernel.errors import LimnosError
from limnos.sdk.archives import unpack

_SUFFIXES = {"zip": ".zip", "wheel": ".whl", "hmap": ".hmap", "tar": ".tar", "tgz": ".tgz"}
_TAR_TYPES = {
    "file": tarfile.REGTYPE, "dir": tarfile.DIRTYPE, "symlink": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE, "fifo": tarfile.FIFOTYPE, "device": tarfile.CHRTYPE,
}  # fmt: skip
_ZIP_TYPES = {
    "file": stat.S_IFREG, "dir": stat.S_IFDIR, "symlink": stat.S_IFLNK, "fifo": stat.S_IFIFO,
    "device": stat.S_IFCHR, "hardlink": stat.S_IFREG,
}  # fmt: skip
_USUAL = {"dir": 0o755, "symlink": 0o777}


class Member(NamedTuple):
    """One entry of a case, repeated ones apart."""

    name: str
    kind: str
    data: bytes
    spec: dict[str, Any]

    @property
    def mode(self) -> int:
        """Its permission bits."""
        return int(self.spec.get("mode", _USUAL.get(self.kind, 0o644)))


def check(case: dict[str, Any]) -> str | None:
    """None when the archive is unpacked or refused as it may be, with nothing left or outside of it."""
    expect = case["expect"]
    allowed = [expect] if isinstance(expect, str) else expect
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        archive, target = folder / f"case{_SUFFIXES[case['format']]}", folder / "target"
        members = list(_members(case))
        archive.write_bytes(build(case, members))
        target.mkdir()
        outcome, said = _unpacked(archive, target)
        if outcome not in allowed:
            return f"{outcome}: {said}" if said else outcome
        beside = sorted(path.name for path in folder.iterdir())
        if beside != sorted((archive.name, "target")):
            return f"{outcome}, and beside it lies {beside}"
        if outcome == "refuse":
            left = [path.name for path in target.iterdir()]
            return f"refused, but {left} was left" if left else _unnamed(said, archive.name)
        return _difference(target, members)


def build(case: dict[str, Any], members: list[Member] | None = None) -> bytes:
    """The bytes of the archive that `case` describes."""
    members = list(_members(case)) if members is None else members
    made = _tar(case, members) if case["format"] in ("tar", "tgz") else _zip(members)
    return made[: len(made) - case.get("cut", 0)]


def _members(case: dict[str, Any]) -> Iterator[Member]:
    for spec in case["entries"]:
        for number in range(spec.get("repeat", 1)):
            name = spec["name"].replace("{n}", str(number))
            size = spec.get("size", 12) if spec["type"] == "file" else 0
            data = bytes(size) if spec.get("fill") == "zero" else random.Random(name).randbytes(size)
            yield Member(name, spec["type"], data, spec)


def _zip(members: list[Member]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a name that is there twice
        for member in members:
            info = zipfile.ZipInfo()
            info.filename = member.name
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (_ZIP_TYPES[member.kind] | member.mode) << 16
            link = member.spec.get("target", "") if member.kind == "symlink" else ""
            archive.writestr(info, member.data or link.encode())
    made = held.getvalue()
    for member in members:
        if "declared_size" in member.spec:
            true, declared = (
                struct.pack("<I", size) for size in (len(member.data), member.spec["declared_size"])
            )
            made = made.replace(true, declared)
    return made


def _tar(case: dict[str, Any], members: list[Member]) -> bytes:
    held = io.BytesIO()
    mode = "w:gz" if case["format"] == "tgz" else "w:"
    with tarfile.open(fileobj=held, mode=mode, format=tarfile.PAX_FORMAT) as archive:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.type = _TAR_TYPES[member.kind]
            info.mode = member.mode
            info.linkname = member.spec.get("target", "")
            info.pax_headers = dict(member.spec.get("pax", {}))
            info.size = member.spec.get("declared_size", len(member.data))
            archive.addfile(info)
            archive.fileobj.write(member.data + bytes(-len(member.data) % tarfile.BLOCKSIZE))
            archive.offset += len(member.data) + -len(member.data) % tarfile.BLOCKSIZE
    return held.getvalue()


def _unpacked(archive: Path, target: Path) -> tuple[str, str]:
    try:
        unpack(archive, target)
    except LimnosError as error:
        return "refuse", f"{error.what} ({error.fix})"
    return "extract", ""


def _unnamed(said: str, archive: str) -> str | None:
    return None if archive in said and ("'" in said or "it " in said or "its " in said) else f"vague: {said}"


def _difference(target: Path, members: list[Member]) -> str | None:
    wanted = {str(Path(member.name)): member for member in members if member.kind != "dir"}
    found = {str(path.relative_to(target)): path for path in target.rglob("*") if not path.is_dir()}
    if wanted.keys() != found.keys():
        return f"extracted {sorted(found)[:8]}"
    for name, path in found.items():
        info = path.lstat()
        if path.is_symlink():
            continue
        if path.read_bytes() != wanted[name].data:
            return f"{name} has another content"
        if stat.S_IMODE(info.st_mode) & 0o7022 or not info.st_mode & 0o200:
            return f"{name} has the mode {stat.S_IMODE(info.st_mode):o}"
    return None
