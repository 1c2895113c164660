"""Tools that find files and text. Regular expressions run in linear time (RE2)."""

import asyncio
import fnmatch
import time
from collections.abc import Iterator
from typing import Any

from limnos import lazy
from limnos.kernel.messages import Arguments
from limnos.kernel.tools import Output, Tool, ToolContext, ToolFailure
from limnos.sdk.files import Files

MAX_FOUND = 200
MAX_LINE = 300
MAX_FILE = 5_000_000
SECONDS = 20.0
MAX_PATTERN_MEMORY = 64 << 20


def search_tools(files: Files) -> list[Tool]:
    """find_files and search_text over `files`."""
    tools = _SearchTools(files)
    folder = {"type": "string", "description": "where to look; the working folder if absent"}
    return [
        Tool(
            "find_files",
            "Find files by name, in all folders below.",
            {
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "name with wildcards, for example *.py"},
                    "path": folder,
                },
                "required": ["pattern"],
                "additionalProperties": False,
            },
            tools.find,
            parallel_safe=True,
            private=True,
            plugin="search",
        ),
        Tool(
            "search_text",
            "Find lines that hold a text, in all files below.",
            {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "minLength": 1, "description": "the text to look for"},
                    "path": folder,
                    "regex": {"type": "boolean", "description": "the query is a regular expression"},
                },
                "required": ["query"],
                "additionalProperties": False,
            },
            tools.search,
            parallel_safe=True,
            private=True,
            plugin="search",
        ),
    ]


class _SearchTools:
    def __init__(self, files: Files) -> None:
        self._files = files

    async def find(self, arguments: Arguments, context: ToolContext) -> Output:
        pattern = arguments["pattern"]
        found = await asyncio.to_thread(self._find, pattern, arguments.get("path") or ".")
        if not found:
            return Output(f"No file matches {pattern!r}: nothing was found.", "0 found")
        rows = [f"{name}  {size} bytes" for name, size in found[:MAX_FOUND]]
        more = f" (the first {MAX_FOUND} are listed)" if len(found) > MAX_FOUND else ""
        return Output(
            "\n".join([*rows, f"{len(found)} found{more}"]), f"{pattern}, {len(found)} found", origin="file"
        )

    def _find(self, pattern: str, path: str) -> list[tuple[str, int]]:
        wanted = pattern if "/" in pattern else f"*/{pattern}"
        return [
            (name, size)
            for name, size in self._files.walk(path)
            if fnmatch.fnmatch(f"/{name}", wanted) or fnmatch.fnmatch(name, pattern)
        ]

    async def search(self, arguments: Arguments, context: ToolContext) -> Output:
        query = arguments["query"]
        matcher = _matcher(query, regex=arguments.get("regex", False))
        found, complete = await asyncio.to_thread(self._search, matcher, arguments.get("path") or ".")
        end = "" if complete else f" (stopped at {MAX_FOUND} lines or {SECONDS:g} s; narrow the path)"
        if not found:
            return Output(f"No line holds {query!r}: nothing was found{end}.", f'"{query}", 0 found')
        names = {line.split(":", 1)[0] for line in found}
        said = f"{len(found)} lines in {len(names)} files{end}"
        return Output("\n".join([*found, said]), f'"{query}", {said}', origin="file")

    def _search(self, matcher: Any, path: str) -> tuple[list[str], bool]:
        found: list[str] = []
        deadline = time.monotonic() + SECONDS
        for name, size in self._files.walk(path):
            if time.monotonic() > deadline:
                return found, False
            if size > MAX_FILE:
                continue
            for line in self._lines(name, matcher):
                found.append(line)
                if len(found) >= MAX_FOUND:
                    return found, False
        return found, True

    def _lines(self, name: str, matcher: Any) -> Iterator[str]:
        try:
            data = self._files.read(name)
        except ToolFailure:
            return
        if b"\x00" in data[:8192]:
            return
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            if matcher.search(line):
                yield f"{name}:{number}: {line.strip()[:MAX_LINE]}"


def _matcher(query: str, *, regex: bool) -> Any:
    """Something with `search(line)`; plain queries ignore case when they hold no capital."""
    re2: Any = lazy.re2
    options = re2.Options()
    options.case_sensitive = regex or query != query.lower()
    options.log_errors = False
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        return re2.compile(query if regex else re2.escape(query), options)
    except re2.error as error:
        raise ToolFailure(
            "invalid_arguments", f"{query!r} is no regular expression: {error}", "use plain text"
        ) from None
