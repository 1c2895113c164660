"""Cases `archives`: an archive built with libraries that allow everything, given to our unpacker."""

import gzip
import os
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
_PIECE = 1 << 20
_USUAL = {"dir": 0o755, "symlink": 0o777}


class Member(NamedTuple):
    """One entry of a case, repeated ones apart."""

    name: str
    kind: str
    size: int
    spec: dict[str, Any]

    @property
    def mode(self) -> int:
        """Its permission bits."""
        return int(self.spec.get("mode", _USUAL.get(self.kind, 0o644)))

    def pieces(self) -> Iterator[bytes]:
        """Its content, in pieces of at most 1 MiB."""
        chance = random.Random(self.name)
        for start in range(0, self.size, _PIECE):
            length = min(_PIECE, self.size - start)
            yield bytes(length) if self.spec.get("fill") == "zero" else chance.randbytes(length)


def check(case: dict[str, Any]) -> str | None:
    """None when the archive is unpacked or refused as it may be, with nothing left or outside of it."""
    expect = case["expect"]
    allowed = [expect] if isinstance(expect, str) else expect
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        archive, target = folder / f"case{_SUFFIXES[case['format']]}", folder / "target"
        members = list(_members(case))
        build(archive, case)
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


def build(path: Path, case: dict[str, Any]) -> None:
    """Write the archive that `case` describes to `path`."""
    write = _tar if case["format"] in ("tar", "tgz") else _zip
    write(path, case["format"], list(_members(case)))
    os.truncate(path, path.stat().st_size - case.get("cut", 0))


def _members(case: dict[str, Any]) -> Iterator[Member]:
    for spec in case["entries"]:
        for number in range(spec.get("repeat", 1)):
            name = spec["name"].replace("{n}", str(number))
            yield Member(name, spec["type"], spec.get("size", 12) if spec["type"] == "file" else 0, spec)


def _zip(path: Path, _: str, members: list[Member]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a name that is there twice
        for member in members:
            info = zipfile.ZipInfo()
            info.filename = member.name
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (_ZIP_TYPES[member.kind] | member.mode) << 16
            info.file_size = member.size
            with archive.open(info, "w") as file:
                if member.kind == "symlink":
                    file.write(member.spec["target"].encode())
                for piece in member.pieces():
                    file.write(piece)
    for member in members:
        if "declared_size" in member.spec:
            true, declared = (struct.pack("<I", size) for size in (member.size, member.spec["declared_size"]))
            path.write_bytes(path.read_bytes().replace(true, declared))


def _tar(path: Path, form: str, members: list[Member]) -> None:
    opened = gzip.open if form == "tgz" else open
    with opened(path, "wb") as file:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.type = _TAR_TYPES[member.kind]
            info.mode = member.mode
            info.linkname = member.spec.get("target", "")
            info.pax_headers = dict(member.spec.get("pax", {}))
            info.size = member.spec.get("declared_size", member.size)
            file.write(info.tobuf(tarfile.PAX_FORMAT))
            for piece in member.pieces():
                file.write(piece)
            file.write(bytes(-member.size % tarfile.BLOCKSIZE))
        file.write(bytes(2 * tarfile.BLOCKSIZE))


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
        if path.read_bytes() != b"".join(wanted[name].pieces()):
            return f"{name} has another content"
        if stat.S_IMODE(info.st_mode) & 0o7022 or not info.st_mode & 0o200:
            return f"{name} has the mode {stat.S_IMODE(info.st_mode):o}"
    return None
