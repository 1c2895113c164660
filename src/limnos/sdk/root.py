"""One folder held open, and places in it: a folder's descriptor and a name, so that no path is used twice."""

import errno
import os
import re
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from limnos.kernel.tools import ToolFailure
from limnos.sdk.beneath import FOLDER, PATH_ONLY, has_openat2, open_beneath, open_on_this_disk
from limnos.sdk.file_failures import changed, failure, missing, outside, own_state, require_regular
from limnos.sdk.links import LinkWalk, split
from limnos.sdk.refused import Identity, Refused, identity

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_LINK_IN_THE_WAY = (errno.ELOOP, errno.ENOTDIR, errno.EXDEV)
_UP = "../"
MAX_DEPTH = 200  # folders in folders that are made or walked; deeper trees break other programs
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
Make: TypeAlias = Callable[[], object]


class Place:
    """The last of `names` in the open `folder`. `info` is what was there, never a link, or None."""

    __slots__ = ("_owned", "folder", "info", "names")

    def __init__(self, folder: int, names: tuple[str, ...], *, owned: bool) -> None:
        self.folder = folder
        self.names = names
        self.info: os.stat_result | None = None
        self._owned = owned

    @property
    def last(self) -> str:
        """The name in the folder; `.` for the root itself."""
        return self.names[-1] if self.names else "."

    @property
    def name(self) -> str:
        """All names, relative to the root."""
        return "/".join(self.names) or "."

    def look(self) -> os.stat_result | None:
        """What the name is now, links not followed. Raises OSError."""
        try:
            return os.stat(self.last, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open_regular(self, path: str) -> int:
        """A descriptor of the regular file that was there, to be read. Raises ToolFailure, OSError."""
        if self.info is None:
            raise missing(path)
        require_regular(self.info.st_mode, self.info.st_size, path)
        return os.open(self.last, READ, dir_fd=self.folder)

    def close(self) -> None:
        """Let the folder go."""
        if self._owned:
            self._owned = False
            os.close(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Root:
    """The folder `path`, held open for its whole life. `refused` are folders that nothing is opened in."""

    def __init__(self, path: Path, refused: tuple[Path, ...]) -> None:
        self.path = os.path.realpath(path)
        self._written = os.path.abspath(path)
        self.refused = Refused(self.path, refused)
        self._straight = has_openat2() and not self.refused.everything
        self._held: tuple[int, Identity] | None = None
        with suppress(ToolFailure):  # said at the first use, if it is not there by then
            self._hold_root()

    def __del__(self) -> None:
        held: tuple[int, Identity] | None = getattr(self, "_held", None)
        if held is not None:
            os.close(held[0])

    def descriptor(self) -> int:
        """The open folder. Raises ToolFailure when it is not there, or is another one than at the start."""
        held = self._held or self._hold_root()
        try:
            same = identity(os.stat(self.path)) == held[1]
        except OSError:
            same = False
        if not same:
            raise ToolFailure(
                "failed",
                f"the folder {self.path} was moved or replaced since this session began",
                "put it back, or start a new session in the folder that is there now",
            )
        return held[0]

    def find(self, path: str, make: Make | None = None) -> Place:
        """The place that `path` leads to, links followed.

        With `make` missing folders above it are made; it is called before, and may refuse.

        Raises ToolFailure: outside, refused, a missing folder, links in a circle.
        """
        parts = self.parts(path)
        try:
            place = None if ".." in parts else self._place(tuple(parts), path, make)
            if place is None:
                place = self._place(self.resolve(path), path, make)
        except OSError as error:
            raise self.failure(path, error) from None
        if place is None:  # what was no link when it was resolved is one now
            raise changed(path)
        return place

    def open_regular(self, path: str) -> int:
        """A descriptor of the regular file that `path` leads to, to be read. Raises ToolFailure, OSError."""
        descriptor = self._open_straight(path)
        if descriptor is not None:
            return descriptor
        with self.find(path) as place:
            return place.open_regular(path)

    def resolve(self, path: str) -> tuple[str, ...]:
        """The names from the root to what `path` leads to, links followed; the end need not exist.

        Raises ToolFailure.
        """
        parts = self.parts(path)
        with LinkWalk(self.descriptor(), self.inside) as walk:
            try:
                names = walk.run(parts)
            except OSError as error:
                raise self.failure(path, error) from None
        if walk.met & self.refused.identities():
            raise own_state(path)
        self._require_not_named(names, path)
        return names

    def open_folder(self, names: Sequence[str], path: str, flags: int = FOLDER) -> int:
        """A descriptor of the folder at resolved `names`. Raises OSError; ToolFailure if it is refused."""
        folder = open_beneath(self.descriptor(), names, flags)
        if self._is_refused(folder, len(names)):
            os.close(folder)
            raise own_state(path)
        return folder

    def require_held(self, place: Place, path: str) -> None:
        """Raises ToolFailure when the folder of `place` was moved out of the root meanwhile."""
        above = os.stat(_UP * max(len(place.names) - 1, 0) or ".", dir_fd=place.folder)
        if self._held is None or identity(above) != self._held[1]:
            raise changed(path)

    def parts(self, path: str) -> list[str]:
        """The names that `path` is written with, from the root on. Raises ToolFailure."""
        if _CONTROL.search(path):
            raise ToolFailure("invalid_arguments", f"{path!r} has control characters", "use a plain name")
        try:
            os.fsencode(path)
        except UnicodeEncodeError:
            raise ToolFailure("invalid_arguments", f"{path!r} is no path", "give a plain path") from None
        parts = self.inside(path) if path.startswith("/") else split(path)
        if parts is None:
            raise outside(path, self.path)
        return parts

    def inside(self, path: str) -> list[str] | None:
        """The names below the root that an absolute path goes on with; None when it leads elsewhere."""
        for path_ in (path, os.path.realpath(path)):
            for root in (self.path, self._written):
                if path_ == root or path_.startswith(root.rstrip("/") + "/"):
                    return split(path_[len(root) :])
        return None

    def failure(self, path: str, error: OSError) -> ToolFailure:
        """The failure for `error`; a way out of the root has words of its own."""
        return outside(path, self.path) if error.errno == errno.EXDEV else failure(path, error)

    def _open_straight(self, path: str) -> int | None:
        """The same in few steps for the usual case; None for all others, also to say what is wrong.

        This goes over no link and no mount point, the only ways to a refused folder that does not lie below
        the root; if one does, the folders on the way are compared with it.
        """
        parts = self.parts(path)
        if not self._straight or not parts or ".." in parts:
            return None
        root, name = self.descriptor(), "/".join(parts)
        try:
            if self.refused.may_be_below and self._meets_refused(root, parts):
                return None
            seen = open_on_this_disk(root, name, PATH_ONLY | os.O_NOFOLLOW)
            regular = stat.S_ISREG(os.fstat(seen).st_mode)
            os.close(seen)
            return open_on_this_disk(root, name, READ) if regular else None
        except OSError:
            return None

    def _meets_refused(self, root: int, parts: Sequence[str]) -> bool:
        identities = self.refused.identities()
        for depth in range(1, len(parts)):
            above = os.stat("/".join(parts[:depth]), dir_fd=root, follow_symlinks=False)
            if identity(above) in identities:
                return True
        return self.refused.by_name(parts)

    def _place(self, names: tuple[str, ...], path: str, make: Make | None) -> Place | None:
        """The place of names as they are; None when one of them is a link. Raises OSError."""
        self._require_not_named(names, path)
        root = self.descriptor()
        if len(names) < 2:
            place = Place(root, names, owned=False)
        else:
            folder = self._folder(names[:-1], path, make)
            if folder is None:
                return None
            place = Place(folder, names, owned=True)
        try:
            followed = self._look(place, path)
        except BaseException:
            place.close()
            raise
        if not followed:
            place.close()
        return place if followed else None

    def _look(self, place: Place, path: str) -> bool:
        """Note what is at `place`; False when it is a link."""
        place.info = info = place.look()
        if info is None:
            return True
        if identity(info) in self.refused.identities():
            raise own_state(path)
        return not stat.S_ISLNK(info.st_mode)

    def _folder(self, names: tuple[str, ...], path: str, make: Make | None) -> int | None:
        try:
            return self.open_folder(names, path)
        except FileNotFoundError:
            if make is None:
                raise
            make()
        except OSError as error:
            if error.errno in _LINK_IN_THE_WAY:
                return None
            raise
        return self._make_folders(names, path)

    def _make_folders(self, names: tuple[str, ...], path: str) -> int:
        if len(names) > MAX_DEPTH:
            raise ToolFailure("failed", f"{path} is in {len(names)} folders", f"use at most {MAX_DEPTH}")
        here = self.open_folder((), path)
        try:
            for name in names:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=here)
                below = os.open(name, FOLDER, dir_fd=here)
                os.close(here)
                here = below
            refused = self._is_refused(here, len(names))
        except BaseException:
            os.close(here)
            raise
        if refused:
            os.close(here)
            raise own_state(path)
        return here

    def _is_refused(self, folder: int, depth: int) -> bool:
        identities = self.refused.identities()
        if not identities or not depth:
            return False
        if identity(os.fstat(folder)) in identities:
            return True
        return any(identity(os.stat(_UP * up, dir_fd=folder)) in identities for up in range(1, depth))

    def _require_not_named(self, names: Sequence[str], path: str) -> None:
        if self.refused.everything or self.refused.by_name(names):
            raise own_state(path)

    def _hold_root(self) -> tuple[int, Identity]:
        try:
            folder = os.open(self.path, FOLDER)
        except OSError as error:
            raise failure(self.path, error) from None
        self._held = held = (folder, identity(os.fstat(folder)))
        return held
