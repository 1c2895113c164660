"""The tools `find_files` and `search_text`. Regular expressions run in linear time (RE2)."""

from collections.abc import Iterable, Iterator
from itertools import islice

from limnos.builtin.search.lines import Finder, Hit, LineSearch, Watch, pattern, plain
from limnos.builtin.search.names import name_matcher
from limnos.builtin.search.parts import PartSearch, parts_of
from limnos.sdk.files import MAX_ENTRIES, Files, shown
from limnos.sdk.plugin import Call, Output, Plugin, ToolFailure
from limnos.sdk.suggesting import suggesting
from limnos.sdk.texts import counted, decoded
from limnos.sdk.workplace import files_of

MAX_FOUND = 200
MAX_NAMED = 8
MAX_SEEN = 12
MAX_PARTLY = 8
SHORT_FILE = 2_000  # characters
MAX_FILE = 5_000_000
SECONDS = 20.0


class _Found:
    """What a search has seen; what it did not look at is said, so that "nothing" never means "never was"."""

    def __init__(self, call: Call) -> None:
        self.lines: list[str] = []
        self.files: list[str] = []
        self.names = 0
        self.skipped = 0
        self.left_out: set[str] = set()
        self.stopped = False
        self.matching_names: list[str] = []
        self.looked_at: list[str] = []
        self.unseen = 0
        self.most: int | None = None
        self.watch = Watch(call, SECONDS)

    def note_name(self, name: str, finder: Finder) -> None:
        """Keep a name that holds the query: who looks for text may have meant a file or folder."""
        if len(self.looked_at) < MAX_SEEN:
            self.looked_at.append(shown(name))
        if len(self.matching_names) < MAX_NAMED and finder.holds(shown(name)):
            self.matching_names.append(shown(name))

    def in_files(self) -> str:
        """How many files hold it, and which when they are few: that is often what was asked."""
        names = f": {', '.join(self.files)}" if 1 < len(self.files) <= MAX_NAMED else ""
        return counted(len(self.files), "file") + names

    def about_looked_at(self) -> list[str]:
        """One line with the first files looked at: what is asked for may stand in one by another word."""
        more = f" and {self.names - len(self.looked_at)} more" if self.names > len(self.looked_at) else ""
        return (
            [f"Files looked at: {', '.join(self.looked_at)}{more} (read_file shows one)"]
            if self.looked_at
            else []
        )

    def about_names(self) -> list[str]:
        """One line about those names, when there are some."""
        if not self.matching_names:
            return []
        names = ", ".join(self.matching_names)
        return [f"Names that hold it: {names} (read_file and list_dir show what they have)"]

    def limits(self) -> str:
        """A clause for each reason why there may be more."""
        said: list[str] = []
        if self.skipped:
            files = counted(self.skipped, "file")
            said.append(f"{files} not looked at: binary, unreadable or too large")
        if self.left_out:
            said.append(f"left out: {', '.join(sorted(self.left_out))}; name such a folder to look into it")
        if self.unseen:
            lines = counted(self.unseen, "line")
            said.append(f"only the first {self.most} characters of {lines} were looked at")
        if self.names >= MAX_ENTRIES:
            said.append(f"only the first {MAX_ENTRIES} files were looked at")
        if self.stopped:
            said.append(f"stopped at {MAX_FOUND} lines or {SECONDS:g} s; narrow the path")
        return "".join(f" ({clause})" for clause in said)


plugin = Plugin()


@plugin.tool
def find_files(call: Call, pattern: str, path: str = ".") -> Output:
    """Files by name, in all folders below."""
    files, found = files_of(call), _Found(call)
    suggesting(files, path, lambda: _find(files, pattern, path or ".", found))
    call.check()
    if not found.lines:
        said = f"No file matches {pattern!r}: nothing was found{found.limits()}."
        return Output(f"{said} search_text looks for a word inside of files.", "0 found")
    rows = found.lines[:MAX_FOUND]
    more = f" (the first {MAX_FOUND} are listed)" if len(found.lines) > MAX_FOUND else ""
    said = f"{len(found.lines)} found{more}{found.limits()}"
    return Output("\n".join([*rows, said]), f"{pattern}, {said}", origin="file")


@plugin.tool
def search_text(call: Call, query: str, path: str = ".", regex: bool = False) -> Output:
    """Lines that hold a text, in all files below."""
    search = _TextSearch(files_of(call), query, path or ".", _Found(call))
    output = suggesting(search.files, path, lambda: search.run(regex=regex))
    call.check()
    return output


def _find(files: Files, wanted: str, path: str, found: _Found) -> None:
    wanted = files.pattern(wanted)
    part = wanted.casefold()
    exact, in_any_case = name_matcher(wanted), name_matcher(wanted, any_case=True)
    rows: tuple[list[str], ...] = ([], [], [])
    for raw, size in files.walk(path, found.left_out, found.watch.over):
        found.names += 1
        name = shown(raw)
        likeness = (exact(name), in_any_case(name), part in name.casefold())
        if any(likeness):
            rows[likeness.index(True)].append(f"{name}  {counted(size, 'byte')}")
    found.lines = rows[0] or rows[1] or rows[2]
    found.stopped = found.watch.over()


class _TextSearch:
    """One search for lines, and what may have been meant when it was in vain."""

    def __init__(self, files: Files, query: str, path: str, found: _Found) -> None:
        self.files = files
        self._query = query
        self._path = path
        self._found = found

    def run(self, *, regex: bool) -> Output:
        """The lines, or something in their place. Raises ToolFailure."""
        query, found = self._query, self._found
        self._search(pattern(query) if regex else plain(query))
        end = found.limits()
        if not found.lines:
            said = [f"No line holds {query!r}: nothing was found{end}.", *self._instead(regex=regex)]
            return Output("\n".join(said), f'"{query}", 0 found', origin="file")
        said = f"{counted(len(found.lines), 'line')} in {found.in_files()}{end}"
        lines = [*found.lines, said, *found.about_names()]
        return Output("\n".join(lines), f'"{query}", {said}', origin="file")

    def _instead(self, *, regex: bool) -> list[str]:
        """What may have been meant by a search in vain: names, lines with parts of it, a short file whole."""
        found = self._found
        if whole := self._short_file():
            return [f"The whole file, since it is short:\n{whole}"]
        parts = [] if regex else parts_of(self._query)
        partial_matches = self._partly(parts) if parts else []
        return [*found.about_names(), *partial_matches] or found.about_looked_at()

    def _partly(self, parts: list[str]) -> list[str]:
        kept, watch = PartSearch(parts), self._found.watch
        search = LineSearch(kept.finder, watch)
        for name, size in self.files.walk(self._path, over=lambda: kept.full or watch.over()):
            text = self._text(name) if size <= MAX_FILE else None
            kept.add(_rows(name, search.hits(text or "")))
        cut_short = kept.full or watch.over()
        lines = kept.best(MAX_PARTLY)
        if not lines:
            return ["The search for its parts was not finished; narrow the path."] if cut_short else []
        end = " (not all files were looked at; narrow the path)" if cut_short else ""
        return [f"Lines that hold a part of it{end}:", *lines]

    def _short_file(self) -> str:
        """The text of one short file that was searched in vain: its reader would be the next call."""
        try:
            text = decoded(self.files.read(self._path))
        except ToolFailure:
            return ""
        return text if text is not None and len(text) <= SHORT_FILE else ""

    def _search(self, finder: Finder) -> None:
        found = self._found
        search = LineSearch(finder, found.watch)
        for name, size in self.files.walk(self._path, found.left_out, found.watch.over):
            found.names += 1
            found.note_name(name, search.finder)
            text = self._text(name) if size <= MAX_FILE else None
            if text is None:
                found.skipped += 1
                continue
            lines = list(islice(_rows(name, search.hits(text)), MAX_FOUND - len(found.lines)))
            found.lines += lines
            if lines:
                found.files.append(shown(name))
            if len(found.lines) >= MAX_FOUND:
                break
        found.unseen, found.most = search.unseen, search.finder.most
        found.stopped = len(found.lines) >= MAX_FOUND or found.watch.over()

    def _text(self, name: str) -> str | None:
        try:
            data = self.files.read(name)
        except ToolFailure:
            return None
        return decoded(data)


def _rows(name: str, hits: Iterable[Hit]) -> Iterator[str]:
    return (f"{shown(name)}:{hit.number}: {hit.text}" for hit in hits)
