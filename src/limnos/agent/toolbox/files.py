"""What the gate knows of the file tools: which file a call is about, and what it would make of it.

The tools work in a plugin; this is read here, since a question must not rest on what a plugin says.
"""

import hashlib
import os
from functools import partial

from limnos.agent.toolbox.diffs import unified
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import Rule
from limnos.kernel.tools import Preview, Tool, ToolFailure
from limnos.sdk.files import Files
from limnos.sdk.rewriting import edited, written
from limnos.sdk.suggesting import suggesting
from limnos.sdk.texts import counted


def looked_at(tool: Tool, files: Files) -> Tool:
    """A file tool with what the gate asks about it."""
    look = _Look(files)
    if tool.name in ("read_file", "list_dir"):
        return tool._replace(subject=look.subject)
    if tool.name not in ("write_file", "edit_file"):
        return tool
    return tool._replace(
        edits_files=True,
        findings=look.findings,
        preflight=partial(look.preflight, tool),
        preview=look.preview_write if tool.name == "write_file" else look.preview_edit,
        state=look.state,
    )


class _Look:
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

    def preflight(self, tool: Tool, arguments: Arguments) -> ToolError | None:
        """Why this path can never be written: it leads out of the folder, or belongs to limnos."""
        try:
            self._files.name(str(arguments["path"]))
        except ToolFailure as failure:
            return failure.error
        return tool.preflight(arguments) if tool.preflight is not None else None

    def preview_write(self, arguments: Arguments) -> Preview:
        path: str = arguments["path"]
        return suggesting(self._files, path, lambda: self._preview_write(path, arguments))

    def preview_edit(self, arguments: Arguments) -> Preview:
        path: str = arguments["path"]
        return suggesting(self._files, path, lambda: self._preview_edit(path, arguments))

    def state(self, arguments: Arguments) -> str:
        """A digest of the content that would change: what a person looks at."""
        try:
            return hashlib.sha256(self._files.read(str(arguments.get("path", "")))).hexdigest()
        except ToolFailure as failure:
            return failure.error.reason

    def _preview_write(self, path: str, arguments: Arguments) -> Preview:
        before = self._before(path)
        appends = arguments.get("append", False)
        after = written(path, before, arguments["content"], append=appends)
        named = f"{path}{self._linked(path)}"
        changes = f"adds to the end of {named}" if appends else f"replaces {named}"
        reason = changes if before else f"creates {named}, {counted(len(after), 'byte')}"
        return Preview(unified(path, before, after), (reason,), self._rule("write_file", arguments))

    def _preview_edit(self, path: str, arguments: Arguments) -> Preview:
        before = self._files.read(path)
        made = edited(arguments, before)
        reason = f"changes 1 file, {counted(made.places, 'place')}{self._linked(path)}"
        return Preview(unified(path, before, made.data), (reason,), self._rule("edit_file", arguments))

    def _special(self, path: str) -> str | None:
        try:
            return self._files.protected(path)
        except ToolFailure:
            return None

    def _rule(self, tool: str, arguments: Arguments) -> Rule | None:
        """What *always* would store; none for a name that a rule would read as a pattern."""
        subject = self.subject(arguments)
        if "*" in subject or self._special(str(arguments["path"])):
            return None
        return Rule("allow", tool, subject)

    def _linked(self, path: str) -> str:
        """What the path really is, when a link stands between."""
        real, as_given = self.subject({"path": path}), os.path.normpath(path)
        same = as_given == real or (os.path.isabs(as_given) and as_given.endswith(f"/{real}"))
        return "" if same else f", which is {real}"

    def _before(self, path: str) -> bytes:
        try:
            return self._files.read(path)
        except ToolFailure as failure:
            if failure.error.reason != "not_found":
                raise
            return b""
