"""The one door to a person's files: everything beneath one folder that is held open.

A *boundary* (`docs/security.md`): a path is resolved once, to names without links; these are opened by
descriptor with a call that follows no link (`beneath`), and what was opened is what is checked, read and
replaced. Names that lead out of the folder, and limnos's own state, are refused.
"""

import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from limnos.kernel.protected import protected
from limnos.kernel.tools import ToolFailure
from limnos.sdk import contents, listing
from limnos.sdk.file_failures import MAX_READ as MAX_READ
from limnos.sdk.file_failures import changed, missing, own_state
from limnos.sdk.listing import MAX_ENTRIES as MAX_ENTRIES
from limnos.sdk.listing import SKIPPED as SKIPPED
from limnos.sdk.listing import Entry as Entry
from limnos.sdk.root import Root


class OnChange(Protocol):
    """Told of a change right after it, in the thread that made it: resolved name, bytes before and after.

    None: the file was not there, or is no more. May not raise.
    """

    def __call__(self, name: str, before: bytes | None, after: bytes | None) -> None: ...


class Files:
    """Files beneath `root`. Paths may be relative to it or absolute; results name them relative to it.

    All methods raise ToolFailure, and none waits for a pipe or a device.
    """

    def __init__(self, root: Path, refused: tuple[Path, ...] = (), on_change: OnChange | None = None) -> None:
        self._root = Root(root, refused)
        self._on_change = on_change

    def name(self, path: str) -> str:
        """How `path` is written in answers and rules: relative to the root, links resolved."""
        return "/".join(self._root.resolve(path)) or "."

    def protected(self, path: str) -> str | None:
        """Why a write to `path` decides what runs later ("git runs what is in it"); None when it does not."""
        above = Path(self._root.path).parts
        entry = protected((*above, *self._root.resolve(path)), first=len(above))
        return entry.reason if entry else None

    def pattern(self, pattern: str) -> str:
        """A pattern of names as those of `walk` are written: without `./` and without the root before it."""
        if os.path.isabs(pattern):
            root, resolved = f"{self._root.path.rstrip('/')}/", os.path.realpath(pattern)
            return resolved.removeprefix(root) if resolved.startswith(root) else pattern
        return re.sub(r"^(?:\./+)+", "", pattern)

    def read(self, path: str) -> bytes:
        """The content of a regular file of at most 20 MB."""
        try:
            descriptor = self._root.open_regular(path)
            try:
                data, info = contents.read_open(descriptor, path)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._root.failure(path, error) from None
        if info.st_nlink > 1 and self._root.refused.has_link_of(info):
            raise own_state(path)
        return data

    def write(self, path: str, data: bytes) -> bool:
        """Replace or create a file whole, with its folders; True when it is new."""
        return self.change(path, lambda _: data)

    def change(self, path: str, new: Callable[[bytes | None], bytes], *, at: str | None = None) -> bool:
        """Replace a file's content by `new` of it (None: there is no file); True when it is new.

        What `new` was given is what is replaced: a change by somebody else in between is kept, and this one
        fails. So it does when `path` leads elsewhere by now than to `at`, the `name` that was agreed to.
        """
        with self._told(path), self._root.find(path, partial(new, None)) as place:
            if at is not None and place.name != at:
                raise changed(path)
            with contents.held(place, path) as old:
                before = old.data if old else None
                after = new(before)
                self._root.require_held(place, path)
                contents.put(place, after, old, path)
                if self._on_change is not None:
                    self._on_change(place.name, before, after)
        return before is None

    def remove(self, path: str) -> None:
        """Take a regular file away."""
        name, before = self._remove(path, None)
        if self._on_change is not None:
            self._on_change(name, before, None)

    def restore(self, path: str, data: bytes | None, instead_of: bytes | None) -> None:
        """Make `data` the content again, or let there be no file (None), if it now is `instead_of`.

        `path` is a name as changes were told of: one that leads elsewhere by now is not followed. `on_change`
        is not told: who goes back in time keeps the record of it.
        """
        if data is None:
            self._remove(path, instead_of, at=path)
            return
        absent = partial(_require_unchanged, path, None, instead_of)
        with self._told(path), self._root.find(path, absent) as place:
            if place.name != path:
                raise changed(path)
            with contents.held(place, path) as old:
                _require_unchanged(path, old.data if old else None, instead_of)
                self._root.require_held(place, path)
                contents.put(place, data, old, path)

    def list(self, path: str) -> list[Entry]:
        """The names in a folder, at most 10,000, folders first, then by name; of a file its own."""
        with self._told(path):
            return listing.entries(self._root, path)

    def walk(
        self, path: str, left_out: set[str] | None = None, over: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[str, int]]:
        """Relative names and sizes of files below `path`, at most 10,000.

        Folders of version control and of installed packages (`SKIPPED`) are not entered; the names of those
        that were met are added to `left_out`, and what of very large folders was not looked at. One that
        `path` itself names is walked. Ends when `over`.
        """
        with self._told(path):
            yield from listing.Walk(self._root, set() if left_out is None else left_out, over).below(path)

    def near(self, path: str) -> tuple[str, ...]:
        """Up to three names that `path` may have meant: like it in its folder, or the same one elsewhere.

        None for a path that exists. Looks at up to 10,000 names.
        """
        with self._told(path):
            return listing.near(self._root, path)

    def _remove(self, path: str, instead_of: bytes | None, at: str | None = None) -> tuple[str, bytes]:
        """Take a file away; with `instead_of` only if that is its content. Its name and content."""
        with self._told(path), self._root.find(path) as place:
            if at is not None and place.name != at:
                raise changed(path)
            with contents.held(place, path) as old:
                if old is None:
                    raise missing(path)
                if instead_of is not None:
                    _require_unchanged(path, old.data, instead_of)
                self._root.require_held(place, path)
                contents.take_away(place, old, path)
                return place.name, old.data

    @contextmanager
    def _told(self, path: str) -> Generator[None]:
        """What the system refuses becomes a failure that names `path`."""
        try:
            yield
        except OSError as error:
            raise self._root.failure(path, error) from None


def shown(name: str) -> str:
    """`name` on one line, without control characters and without bytes that are no text, as escapes."""
    text = os.fsencode(name).decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def _require_unchanged(path: str, data: bytes | None, expected: bytes | None) -> None:
    if data != expected:
        raise ToolFailure(
            "failed",
            f"{path} is no longer as that change left it",
            "it was not touched; compare it yourself, or edit it by hand",
        )
