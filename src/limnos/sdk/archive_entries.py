"""What may stand in an archive: names, kinds, numbers and sizes; the same for every format.

`what` of a refusal names the archive and the entry or the limit.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import IO, NamedTuple

from limnos.kernel.errors import LimnosError

MAX_ENTRIES = 10_000
MAX_BYTES = 1_000_000_000
MAX_RATIO = 100
_MOST_NAME_BYTES, _MOST_PATH_BYTES, _MOST_FOLDERS = 255, 4000, 100
_DRIVE = re.compile("[A-Za-z]:")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_RUN_AT_START = ("sitecustomize", "usercustomize")
_SHOWN = 120


class ArchiveRefusedError(LimnosError):
    """An archive that is not opened: it is damaged, leads outside, or is too much."""


class Limits(NamedTuple):
    """Of one archive: how many entries, bytes when unpacked, and how many times its packed size that is."""

    entries: int = MAX_ENTRIES
    bytes: int = MAX_BYTES
    ratio: int = MAX_RATIO


class ArchiveEntry(NamedTuple):
    """A file or folder in an archive. `fault` says what is wrong with it in its own format.

    `mode` are permission bits, 0 when it has none; `open` gives the bytes, `size` of them as declared.
    """

    name: str
    folder: bool
    size: int
    mode: int
    open: Callable[[], IO[bytes]]
    fault: str = ""


class Manifest:
    """Checks the entries of one archive in their order, before anything of them is written."""

    def __init__(self, archive: str, packed: int, limits: Limits, *, wheel: bool) -> None:
        self._archive = archive
        self._packed = packed
        self._limits = limits
        self._wheel = wheel
        self._count = 0
        self._bytes = 0
        self._known: dict[tuple[str, ...], tuple[str, bool]] = {}

    def add(self, entry: ArchiveEntry) -> tuple[str, ...]:
        """The names of the path that the entry is to have, none for the top. Raises ArchiveRefusedError."""
        self._count += 1
        self._bytes += entry.size
        self._require_limits()
        parts = tuple(part for part in entry.name.split("/") if part not in ("", "."))
        fault = (
            _name_fault(entry.name, parts)
            or entry.fault
            or self._kind_fault(entry, parts)
            or self._twin_fault(parts, entry.folder)
        )
        if fault:
            raise refused(self._archive, f"{shortened(entry.name)} {fault}")
        return parts

    def _require_limits(self) -> None:
        if self._count > self._limits.entries:
            raise refused(self._archive, f"it has more than {self._limits.entries} entries")
        if self._bytes > self._limits.bytes:
            raise refused(self._archive, f"it unpacks to more than {self._limits.bytes} bytes")
        if self._bytes > self._limits.ratio * max(self._packed, 1):
            raise refused(self._archive, f"it grows to more than {self._limits.ratio} times its size")

    def _kind_fault(self, entry: ArchiveEntry, parts: tuple[str, ...]) -> str:
        if not parts and not entry.folder:
            return "has no name"
        if entry.folder and entry.size:
            return "is a folder with content"
        return "would be run by an interpreter at every start" if self._wheel and _is_run(parts) else ""

    def _twin_fault(self, parts: tuple[str, ...], folder: bool) -> str:
        """Names that are one on some disks, and files that would have to be folders too."""
        key: tuple[str, ...] = ()
        for depth, part in enumerate(parts, 1):
            key = (*key, _disk_key(part))
            is_folder = folder or depth < len(parts)
            known = self._known.get(key)
            if known is None:
                self._known[key] = (part, is_folder)
            elif known[0] != part:
                return f"has the name of {shortened(known[0])} on disks that ignore case or composition"
            elif known[1] != is_folder:
                return "would be a file and a folder at once"
            elif not is_folder:
                return "stands in it twice"
        return ""


def refused(archive: str, why: str) -> ArchiveRefusedError:
    """The error for `archive`."""
    return ArchiveRefusedError(
        f"{archive} was refused: {why}", "nothing was unpacked; get the archive anew, or one without that"
    )


def shortened(name: str) -> str:
    """A name of an archive for a message: on one line, controls as escapes, not too long."""
    return repr(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!r} ({len(name)} characters)"


def _name_fault(name: str, parts: tuple[str, ...]) -> str:
    if name.startswith("/") or "\\" in name or _DRIVE.match(name):
        return "is an absolute name or one of another system"
    if ".." in parts:
        return "leads out of the archive"
    if _CONTROL.search(name):
        return "has control characters in its name"
    try:
        sizes = [len(part.encode()) for part in parts]
    except UnicodeEncodeError:
        return "has a name that is no text"
    too_deep = len(parts) > _MOST_FOLDERS
    if too_deep or max(sizes, default=0) > _MOST_NAME_BYTES or sum(sizes) + len(sizes) > _MOST_PATH_BYTES:
        return "has a name that is too long"
    return ""


def _is_run(parts: tuple[str, ...]) -> bool:
    last = parts[-1].casefold() if parts else ""
    return last.endswith(".pth") or last.partition(".")[0] in _RUN_AT_START


def _disk_key(part: str) -> str:
    if part.isascii():
        return part.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", part).casefold())
