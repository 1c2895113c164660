"""Tools that find files and text. Regular expressions run in linear time (RE2)."""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from limnos.agent.toolbox.lines import Finder, Hit, LineSearch, Watch, pattern, plain
from limnos.agent.toolbox.names import name_matcher
from limnos.agent.toolbox.parts import PartSearch, parts_of
from limnos.agent.toolbox.suggesting import suggesting
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure
from limnos.sdk.files import MAX_ENTRIES, Files, shown
from limnos.sdk.schema import object_schema
from limnos.sdk.texts import counted, decoded

MAX_FOUND = 200
MAX_NAMED = 8
MAX_SEEN = 12
MAX_PARTLY = 8
SHORT_FILE = 2_000  # characters
MAX_FILE = 5_000_000
SECONDS = 20.0


def search_tools(files: Files) -> list[Tool]:
    """find_files and search_text over `files`."""
    tools = _SearchTools(files)
    folder = {"type": "string", "description": "where to look; the working folder if absent"}
    return [
        Tool(
            "find_files",
            "Find files by name, in all folders below.",
            object_schema(
                ["pattern"],
                pattern={"type": "string", "description": "name with wildcards, for example *.py"},
                path=folder,
            ),
            suggesting(files, tools.find),
            parallel_safe=True,
            private=True,
            plugin="search",
        ),
        Tool(
            "search_text",
            "Find lines that hold a text, in all files below.",
            object_schema(
                ["query"],
                query={"type": "string", "minLength": 1, "description": "the text to look for"},
                path=folder,
                regex={"type": "boolean", "description": "the query is a regular expression"},
            ),
            suggesting(files, tools.search),
            parallel_safe=True,
            private=True,
            plugin="search",
        ),
    ]


class _Found:
    """What a search has seen; what it did not look at is said, so that "nothing" never means "never was"."""

    def __init__(self) -> None:
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
        self.watch = Watch(SECONDS)

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


class _SearchTools:
    def __init__(self, files: Files) -> None:
        self._files = files

    async def find(self, arguments: Arguments, context: ToolContext) -> Output:
        wanted, found = arguments["pattern"], _Found()
        await found.watch.run(partial(self._find, wanted, arguments.get("path") or ".", found))
        if not found.lines:
            said = f"No file matches {wanted!r}: nothing was found{found.limits()}."
            return Output(f"{said} search_text looks for a word inside of files.", "0 found")
        rows = found.lines[:MAX_FOUND]
        more = f" (the first {MAX_FOUND} are listed)" if len(found.lines) > MAX_FOUND else ""
        said = f"{len(found.lines)} found{more}{found.limits()}"
        return Output("\n".join([*rows, said]), f"{wanted}, {said}", origin="file")

    def _find(self, wanted: str, path: str, found: _Found) -> None:
        wanted = self._files.pattern(wanted)
        part = wanted.casefold()
        exact, in_any_case = name_matcher(wanted), name_matcher(wanted, any_case=True)
        rows: tuple[list[str], ...] = ([], [], [])
        for raw, size in self._files.walk(path, found.left_out, found.watch.over):
            found.names += 1
            name = shown(raw)
            likeness = (exact(name), in_any_case(name), part in name.casefold())
            if any(likeness):
                rows[likeness.index(True)].append(f"{name}  {counted(size, 'byte')}")
        found.lines = rows[0] or rows[1] or rows[2]
        found.stopped = found.watch.over()

    async def search(self, arguments: Arguments, context: ToolContext) -> Output:
        query, found = arguments["query"], _Found()
        await found.watch.run(partial(self._search, arguments, found))
        end = found.limits()
        if not found.lines:
            said = [
                f"No line holds {query!r}: nothing was found{end}.",
                *await self._instead(found, arguments),
            ]
            return Output("\n".join(said), f'"{query}", 0 found', origin="file")
        said = f"{counted(len(found.lines), 'line')} in {found.in_files()}{end}"
        return Output(
            "\n".join([*found.lines, said, *found.about_names()]), f'"{query}", {said}', origin="file"
        )

    async def _instead(self, found: _Found, arguments: Arguments) -> list[str]:
        """What may have been meant by a search in vain: names, lines with parts of it, a short file whole."""
        path = arguments.get("path") or "."
        if whole := await asyncio.to_thread(self._short_file, path):
            return [f"The whole file, since it is short:\n{whole}"]
        parts = [] if arguments.get("regex", False) else parts_of(arguments["query"])
        partly = partial(self._partly, parts, path, found.watch)
        partial_matches = await found.watch.run(partly) if parts else []
        return [*found.about_names(), *partial_matches] or found.about_looked_at()

    def _partly(self, parts: list[str], path: str, watch: Watch) -> list[str]:
        kept = PartSearch(parts)
        search = LineSearch(kept.finder, watch)
        for name, size in self._files.walk(path, over=lambda: kept.full or watch.over()):
            text = self._text(name) if size <= MAX_FILE else None
            kept.add(_rows(name, search.hits(text or "")))
        cut_short = kept.full or watch.over()
        lines = kept.best(MAX_PARTLY)
        if not lines:
            return ["The search for its parts was not finished; narrow the path."] if cut_short else []
        end = " (not all files were looked at; narrow the path)" if cut_short else ""
        return [f"Lines that hold a part of it{end}:", *lines]

    def _short_file(self, path: str) -> str:
        """The text of one short file that was searched in vain: its reader would be the next call."""
        try:
            text = decoded(self._files.read(path))
        except ToolFailure:
            return ""
        return text if text is not None and len(text) <= SHORT_FILE else ""

    def _search(self, arguments: Arguments, found: _Found) -> None:
        query = arguments["query"]
        search = LineSearch(pattern(query) if arguments.get("regex", False) else plain(query), found.watch)
        for name, size in self._files.walk(arguments.get("path") or ".", found.left_out, found.watch.over):
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
            data = self._files.read(name)
        except ToolFailure:
            return None
        return decoded(data)


def _rows(name: str, hits: Iterable[Hit]) -> Iterator[str]:
    return (f"{shown(name)}:{hit.number}: {hit.text}" for hit in hits)
