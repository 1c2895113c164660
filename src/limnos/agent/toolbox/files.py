"""Tools that read and change files. The door to the files is passed in."""

import asyncio
import hashlib
import os
from collections.abc import Callable
from functools import partial

from limnos.agent.toolbox.diffs import unified
from limnos.agent.toolbox.suggesting import suggesting, suggesting_preview
from limnos.agent.toolbox.writing import uninterrupted
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ErrorReason, ToolError
from limnos.kernel.seams import Rule
from limnos.kernel.tools import Output, Preview, Tool, ToolContext, ToolFailure
from limnos.sdk.edits import Edited, EditError, EditFault, append_lines, replace_exactly
from limnos.sdk.files import MAX_ENTRIES, Entry, Files, shown
from limnos.sdk.schema import object_schema
from limnos.sdk.texts import counted, decoded, line_count, line_start

DEFAULT_LINES = 2000
_REASONS: dict[EditFault, ErrorReason] = {"not_found": "not_found", "binary": "failed", "encoding": "failed"}
_PATH = {"type": "string", "description": "path of the file, relative to the working folder"}


def file_tools(files: Files) -> list[Tool]:
    """read_file, write_file, edit_file and list_dir over `files`."""
    tools = _FileTools(files)
    both = [*_readers(tools), *_writers(tools)]
    return [
        tool._replace(
            execute=suggesting(files, tool.execute),
            preview=suggesting_preview(files, tool.preview) if tool.preview else None,
        )
        for tool in both
    ]


def _readers(tools: "_FileTools") -> list[Tool]:
    lines = f"how many lines; {DEFAULT_LINES} if absent"
    return [
        Tool(
            "read_file",
            "Read a text file.",
            object_schema(
                ["path"],
                path=_PATH,
                start_line={"type": "integer", "description": "first line to read; -1 is the last line"},
                lines={"type": "integer", "minimum": 1, "description": lines},
            ),
            tools.read,
            parallel_safe=True,
            private=True,
            subject=tools.subject,
            plugin="files",
        ),
        Tool(
            "list_dir",
            "List the files and folders in a folder, with their sizes.",
            object_schema(
                [], path={"type": "string", "description": "the folder; the working folder if absent"}
            ),
            tools.list,
            parallel_safe=True,
            private=True,
            subject=tools.subject,
            plugin="files",
        ),
    ]


def _writers(tools: "_FileTools") -> list[Tool]:
    content = {"type": "string", "description": "the whole new content, or what is added to the end"}
    append = {"type": "boolean", "description": "add to the end of the file instead of replacing it"}
    write = Tool(
        "write_file",
        "Create a file, replace its whole content, or add to its end.",
        object_schema(["path", "content"], path=_PATH, content=content, append=append),
        tools.write,
        effects="local",
        needs_approval=True,
        private=True,
        edits_files=True,
        findings=tools.findings,
        preflight=tools.preflight,
        preview=tools.preview_write,
        state=tools.state,
        plugin="files",
    )
    edit = write._replace(
        name="edit_file",
        description="Replace an exact text in a file by another.",
        parameters=object_schema(
            ["path", "old", "new"],
            path=_PATH,
            old={"type": "string", "description": "the exact text to replace; it must occur once"},
            new={"type": "string", "description": "the text that takes its place"},
            replace_all={"type": "boolean", "description": "replace every occurrence"},
            encoding={"type": "string", "description": "encoding of the file, if it is not UTF-8"},
        ),
        execute=tools.edit,
        preview=tools.preview_edit,
    )
    return [write, edit]


class _FileTools:
    def __init__(self, files: Files) -> None:
        self._files = files

    def subject(self, arguments: Arguments) -> str:
        try:
            return self._files.name(str(arguments.get("path", ".")))
        except ToolFailure:
            return str(arguments.get("path", "."))

    def findings(self, arguments: Arguments) -> Findings:
        """The file that is written, and why a person should look when it decides what runs later.

        All of it is about one resolved name, which is also the only one that the call may write.
        """
        name = self.subject(arguments)
        reason = self._special(name)
        return Findings((Part(subject=name),), (f"{name}: {reason}",) if reason else (), rests_on=name)

    def preflight(self, arguments: Arguments) -> ToolError | None:
        """Why this path can never be written: it leads out of the folder, or belongs to limnos."""
        try:
            self._files.name(str(arguments["path"]))
        except ToolFailure as failure:
            return failure.error
        return None

    def _special(self, path: str) -> str | None:
        try:
            return self._files.protected(path)
        except ToolFailure:
            return None

    async def read(self, arguments: Arguments, context: ToolContext) -> Output:
        return await asyncio.to_thread(self._read, arguments)

    def _read(self, arguments: Arguments) -> Output:
        path = arguments["path"]
        text = _decoded(path, self._files.read(path))
        total = line_count(text)
        first = _first_line(arguments, total)
        if not total:
            return Output(f"{path} is empty: it has no lines.", f"{path} is empty")
        if first > total:
            raise ToolFailure("not_found", f"{path} has only {total} lines", f"start at or before {total}")
        last = min(first - 1 + arguments.get("lines", DEFAULT_LINES), total)
        chosen = text[line_start(text, first) : line_start(text, last + 1)]
        number = last + 1 - first
        head = "" if number == total else f"[lines {first} to {last} of {total}]\n"
        return Output(head + chosen, f"{path}, {number} of {total} lines", origin="file")

    async def write(self, arguments: Arguments, context: ToolContext) -> Output:
        path, content = arguments["path"], arguments["content"]
        if arguments.get("append", False):
            await self._change(path, lambda before: _appended(path, before or b"", content), context)
            said = f"added {counted(line_count(content), 'line')} to the end of {path}"
            return Output(said, said)
        data = _encoded(path, content)
        new = await self._change(path, lambda _: data, context)
        word = "created" if new else "replaced"
        said = f"{word} {path}, {counted(len(data), 'byte')}"
        return Output(said, said)

    async def edit(self, arguments: Arguments, context: ToolContext) -> Output:
        path = arguments["path"]
        made: list[Edited] = []

        def edited(before: bytes | None) -> bytes:
            made.append(_edited(arguments, before))
            return made[-1].data

        await self._change(path, edited, context)
        places, line = made[-1].places, made[-1].line
        said = f"changed {counted(places, 'place')} in {path}, the first in line {line}"
        return Output(said, said)

    async def _change(self, path: str, new: Callable[[bytes | None], bytes], context: ToolContext) -> bool:
        """Change the file that was agreed to, and no other; True when it is new."""
        name = context.rests_on or self.subject({"path": path})
        return await uninterrupted(partial(self._files.change, path, new, at=name), call=context.call)

    async def list(self, arguments: Arguments, context: ToolContext) -> Output:
        path = arguments.get("path") or "."
        entries = await asyncio.to_thread(self._files.list, path)
        if not entries:
            return Output(f"The folder {path} is empty: nothing was found in it.", f"{path} is empty")
        rows = [f"{shown(entry.name)}/" if entry.kind == "folder" else _row(entry) for entry in entries]
        total = _totals(entries)
        if len(entries) == MAX_ENTRIES:
            total += f"; only the first {MAX_ENTRIES} names are here"
        return Output("\n".join([*rows, total]), f"{path}, {total}", origin="file")

    def preview_write(self, arguments: Arguments) -> Preview:
        path = arguments["path"]
        before = self._before(path)
        appends, content = arguments.get("append", False), arguments["content"]
        after = _appended(path, before, content) if appends else _encoded(path, content)
        named = f"{path}{self._linked(path)}"
        changes = f"adds to the end of {named}" if appends else f"replaces {named}"
        reason = changes if before else f"creates {named}, {counted(len(after), 'byte')}"
        return Preview(unified(path, before, after), (reason,), self._rule("write_file", arguments))

    def preview_edit(self, arguments: Arguments) -> Preview:
        path = arguments["path"]
        before = self._files.read(path)
        edited = _edited(arguments, before)
        reason = f"changes 1 file, {counted(edited.places, 'place')}{self._linked(path)}"
        return Preview(unified(path, before, edited.data), (reason,), self._rule("edit_file", arguments))

    def _rule(self, tool: str, arguments: Arguments) -> Rule | None:
        """What *always* would store; none for a name that a rule would read as a pattern."""
        subject = self.subject(arguments)
        return (
            None if "*" in subject or self._special(str(arguments["path"])) else Rule("allow", tool, subject)
        )

    def state(self, arguments: Arguments) -> str:
        """A digest of the content that would change: what a person looks at."""
        try:
            return hashlib.sha256(self._files.read(str(arguments.get("path", "")))).hexdigest()
        except ToolFailure as failure:
            return failure.error.reason

    def _linked(self, path: str) -> str:
        """What the path really is, when a link stands between."""
        real, written = self.subject({"path": path}), os.path.normpath(path)
        same = written == real or (os.path.isabs(written) and written.endswith(f"/{real}"))
        return "" if same else f", which is {real}"

    def _before(self, path: str) -> bytes:
        try:
            return self._files.read(path)
        except ToolFailure as failure:
            if failure.error.reason != "not_found":
                raise
            return b""


def _appended(path: str, before: bytes, content: str) -> bytes:
    _encoded(path, content)
    try:
        return append_lines(before, content)
    except EditError as error:
        raise _failure(path, error) from None


def _edited(arguments: Arguments, before: bytes | None) -> Edited:
    path = arguments["path"]
    if before is None:
        raise ToolFailure("not_found", f"{path} does not exist", "list the folder, or find_files")
    try:
        return replace_exactly(
            before,
            arguments["old"],
            arguments["new"],
            replace_all=arguments.get("replace_all", False),
            encoding=arguments.get("encoding"),
        )
    except EditError as error:
        raise _failure(path, error) from None


def _first_line(arguments: Arguments, total: int) -> int:
    """From 1; a negative `start_line` counts from the end, and one before the first line is the first."""
    start: int = arguments.get("start_line", 1)
    if start == 0:
        raise ToolFailure("invalid_arguments", "start_line is 0", "1 is the first line, -1 the last")
    return start if start > 0 else max(1, total + 1 + start)


def _row(entry: Entry) -> str:
    name = shown(entry.name)
    return f"{name}  {counted(entry.size, 'byte')}" if entry.kind == "file" else f"{name}  ({entry.kind})"


def _totals(entries: list[Entry]) -> str:
    """A count, and the largest file by name: small models read this line and answer right."""
    files = [entry for entry in entries if entry.kind == "file"]
    folders = sum(entry.kind == "folder" for entry in entries)
    said = f"{counted(len(files), 'file')}, {counted(folders, 'folder')}"
    if not files:
        return said
    largest = max(files, key=lambda entry: entry.size)
    return f"{said}; the largest file is {shown(largest.name)} with {counted(largest.size, 'byte')}"


def _failure(path: str, error: EditError) -> ToolFailure:
    reason = _REASONS.get(error.fault, "invalid_arguments")
    return ToolFailure(reason, f"{path}: {error.detail}", error.hint)


def _decoded(path: str, data: bytes) -> str:
    text = decoded(data)
    if text is None:
        raise ToolFailure(
            "refused", f"{path} is a binary file of {counted(len(data), 'byte')}", "only text can be read"
        )
    return text


def _encoded(path: str, text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolFailure(
            "invalid_arguments", f"the content for {path} holds half characters", "send whole ones"
        ) from None
