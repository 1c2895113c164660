"""The tools `read_file`, `list_dir`, `write_file` and `edit_file`."""

from collections.abc import Callable

from limnos.sdk.edits import Edited
from limnos.sdk.files import MAX_ENTRIES, Entry, shown
from limnos.sdk.plugin import Call, Output, Plugin, ToolFailure
from limnos.sdk.rewriting import edited, written
from limnos.sdk.suggesting import suggesting
from limnos.sdk.texts import counted, decoded, line_count, line_start
from limnos.sdk.workplace import files_of

DEFAULT_LINES = 2000

plugin = Plugin()


@plugin.tool
def read_file(call: Call, path: str, start_line: int = 1, lines: int = DEFAULT_LINES) -> Output:
    """Lines of a text file."""
    files = files_of(call)
    text = _decoded(path, suggesting(files, path, lambda: files.read(path)))
    total = line_count(text)
    first = _first_line(start_line, total)
    if not total:
        return Output(f"{path} is empty: it has no lines.", f"{path} is empty")
    if first > total:
        raise ToolFailure("not_found", f"{path} has only {total} lines", f"start at or before {total}")
    last = min(first - 1 + lines, total)
    chosen = text[line_start(text, first) : line_start(text, last + 1)]
    number = last + 1 - first
    head = "" if number == total else f"[lines {first} to {last} of {total}]\n"
    return Output(head + chosen, f"{path}, {number} of {total} lines", origin="file")


@plugin.tool
def list_dir(call: Call, path: str = ".") -> Output:
    """The names in a folder."""
    path, files = path or ".", files_of(call)
    entries = suggesting(files, path, lambda: files.list(path))
    if not entries:
        return Output(f"The folder {path} is empty: nothing was found in it.", f"{path} is empty")
    rows = [f"{shown(entry.name)}/" if entry.kind == "folder" else _row(entry) for entry in entries]
    total = _totals(entries)
    if len(entries) == MAX_ENTRIES:
        total += f"; only the first {MAX_ENTRIES} names are here"
    return Output("\n".join([*rows, total]), f"{path}, {total}", origin="file")


@plugin.tool
def write_file(call: Call, path: str, content: str, append: bool = False) -> Output:
    """A new content, or lines added to the end."""
    sizes: list[int] = []

    def new(before: bytes | None) -> bytes:
        data = written(path, before or b"", content, append=append)
        sizes.append(len(data))
        return data

    is_new = _change(call, path, new)
    if append:
        said = f"added {counted(line_count(content), 'line')} to the end of {path}"
    else:
        said = f"{'created' if is_new else 'replaced'} {path}, {counted(sizes[-1], 'byte')}"
    return Output(said, said)


@plugin.tool
def edit_file(
    call: Call, path: str, old: str, new: str, replace_all: bool = False, encoding: str | None = None
) -> Output:
    """One text replaced by another."""
    made: list[Edited] = []
    given = {"path": path, "old": old, "new": new, "replace_all": replace_all, "encoding": encoding}

    def change(before: bytes | None) -> bytes:
        made.append(edited(given, before))
        return made[-1].data

    _change(call, path, change)
    places, line = made[-1].places, made[-1].line
    said = f"changed {counted(places, 'place')} in {path}, the first in line {line}"
    return Output(said, said)


def _change(call: Call, path: str, new: Callable[[bytes | None], bytes]) -> bool:
    """Change the file that was agreed to, and no other; True when it is new."""
    files = files_of(call)
    return suggesting(files, path, lambda: files.change(path, new, at=call.rests_on or files.name(path)))


def _first_line(start_line: int, total: int) -> int:
    """From 1; a negative `start_line` counts from the end, and one before the first line is the first."""
    if start_line == 0:
        raise ToolFailure("invalid_arguments", "start_line is 0", "1 is the first line, -1 the last")
    return start_line if start_line > 0 else max(1, total + 1 + start_line)


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


def _decoded(path: str, data: bytes) -> str:
    text = decoded(data)
    if text is None:
        raise ToolFailure(
            "refused", f"{path} is a binary file of {counted(len(data), 'byte')}", "only text can be read"
        )
    return text
