"""What the gate knows of the git tools, and what limnos prepares for the plugin that runs git.

Reads see the repository read-only in the sandbox; commits and branches are as commands are.
"""

import asyncio
import hashlib
import json
import os
from functools import partial
from typing import Any, Final

from limnos.agent import deferred
from limnos.agent.commands import Commands, identity_of
from limnos.agent.workbench import program_in
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.tools import Preview, Tool, ToolFailure
from limnos.process.profile import NoSandbox, Profile
from limnos.process.spawn import ChildSpec, Limits

READS: Final = ("git_status", "git_diff", "git_log", "git_show", "git_blame")
WRITES: Final = {"git_commit": "message", "git_branch": "name"}  # with what rules are compared with
GIT_TOOLS: Final = (*READS, *WRITES)
SECONDS: Final = 30.0
NO_HOOKS: Final = "hooks of the repository do not run"
MAX_PREVIEW: Final = 200_000  # bytes
_LIMITS: Final = Limits(data=2 << 30, files=1024, file_size=2 << 30)
_MOST_FILES: Final = 5_000


class Git:
    """The git tools of one session."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    def looked_at(self, tool: Tool) -> Tool | None:
        """A git tool with what the gate asks about it; None without git."""
        bench = self._commands.bench
        if not program_in(bench.environment, bench.workspace, "git"):
            return None
        looked = tool._replace(
            after_timeout="killed",
            preflight=partial(self._preflight, tool),
            findings=partial(self._findings, tool.name),
            sandbox=self._sandbox,
        )
        if tool.name in READS:
            return looked._replace(needs_approval=self._asks)
        preview = self._preview_commit if tool.name == "git_commit" else self._preview_branch
        return looked._replace(preview=preview, state=self._state)

    def order(self, tool: str, arguments: Arguments) -> dict[str, Any]:
        """What the plugin runs. Raises ToolFailure."""
        calls, writes = deferred.git_calls, tool in WRITES
        bench = self._commands.bench
        found = calls.repository(bench.workspace, bench.hidden, writes=writes)
        sandbox, profile = bench.sandbox(), None
        if isinstance(sandbox, NoSandbox):
            sandbox = None
        else:
            profile = self._commands.usual_profile() if writes else self._reading(found.elsewhere)
        own = calls.ALWAYS if writes else {**calls.ALWAYS, **calls.READING}
        environment = {**bench.environment, **own}
        return {
            "steps": [
                deferred.programs.as_order(
                    ChildSpec(words, bench.workspace, environment, _LIMITS), profile, sandbox
                )
                for words in calls.steps(tool, arguments, found)
            ],
            "seconds": SECONDS,
        }

    def _asks(self, arguments: Arguments) -> bool:
        return bool(self._commands.unheld())

    def _sandbox(self, arguments: Arguments) -> str:
        return "none" if self._commands.unheld() else self._reading().name

    def _reading(self, elsewhere: tuple[str, ...] = ()) -> Profile:
        bench = self._commands.bench
        return Profile(bench.workspace, bench.hidden, readable=elsewhere, protect=False, read_only=True)

    def _findings(self, tool: str, arguments: Arguments) -> Findings:
        subject = str(arguments[WRITES[tool]]) if tool in WRITES else str(arguments.get("ref") or "HEAD")
        return Findings((Part(subject=subject),), always=self._commands.unheld())

    def _preflight(self, tool: Tool, arguments: Arguments) -> ToolError | None:
        """Why git cannot do it: there is no repository to be seen, or the arguments are none for it."""
        bench = self._commands.bench
        try:
            found = deferred.git_calls.repository(bench.workspace, bench.hidden, writes=tool.name in WRITES)
            deferred.git_calls.steps(tool.name, arguments, found)
        except ToolFailure as failure:
            return failure.error
        return tool.preflight(arguments) if tool.preflight is not None else None

    def _preview_branch(self, arguments: Arguments) -> Preview:
        name = str(arguments["name"])
        does = "makes the branch, and changes files to it" if arguments.get("switch") else "makes the branch"
        return Preview(name, (does, NO_HOOKS))

    def _preview_commit(self, arguments: Arguments) -> Preview:
        """The message and the diff of the commit; raises ToolFailure when it would hold nothing."""
        message = str(arguments["message"])
        if self._commands.unheld():
            named = "\n".join(arguments.get("paths") or ("what is staged",))
            said = "its changes cannot be shown without a sandbox"
            return Preview(f"{message}\n\n{named}", (said, NO_HOOKS))
        status, diff = self._diff(arguments)
        if status:
            raise ToolFailure("failed", f"git cannot commit this: {diff.strip()[:500]}", "look at git_status")
        if not diff.strip():
            hint = "name the paths to commit" if not arguments.get("paths") else "look at git_status"
            raise ToolFailure("failed", "there is nothing to commit", hint)
        return Preview(f"{message}\n\n{diff}", ("it commits these changes", NO_HOOKS))

    def _diff(self, arguments: Arguments) -> tuple[int, str]:
        """Exit status and output of git, asked for what a commit would hold. Changes nothing."""
        calls, programs, bench = deferred.git_calls, deferred.programs, self._commands.bench
        paths = calls.paths_of(arguments)
        environment = {**bench.environment, **calls.ALWAYS, **calls.READING}
        words = calls.steps("git_diff", {"staged": True}, calls.Repository(bench.workspace))[0]
        if paths:
            objects = os.path.join(bench.workspace, ".git", "objects")
            quoted = objects.replace("\\", "\\\\").replace('"', '\\"')
            environment |= {**calls.ASIDE, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}
            words = ("sh", "-c", calls.STAGED_ASIDE, "sh", *calls.GIT)
        spec = ChildSpec(words, bench.workspace, environment, _LIMITS)
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        try:
            with programs.entering(programs.as_order(spec, self._reading(), bench.sandbox())) as inner:
                done = asyncio.run(programs.run(inner, timeout_s=SECONDS, max_bytes=MAX_PREVIEW, stdin=given))
        except programs.StartError as error:
            raise ToolFailure("unavailable", error.what, error.fix) from None
        return done.exit, done.output.decode("utf-8", "backslashreplace")

    def _state(self, arguments: Arguments) -> str:
        """A digest of what a commit is made of: the index, the branch, and the named files."""
        folder = self._commands.bench.workspace
        own = [os.path.join(folder, ".git", name) for name in ("HEAD", "index", "MERGE_HEAD")]
        files = [*own, _branch_file(folder), *self._named(arguments)]
        known = [[path.encode("utf-8", "backslashreplace").decode(), identity_of(path)] for path in files]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    def _named(self, arguments: Arguments) -> list[str]:
        """The named paths, and the files in the folders among them, within bounds."""
        found: list[str] = []
        folder = self._commands.bench.workspace
        for path in deferred.git_calls.paths_of(arguments):
            found.append(os.path.join(folder, path))
            for inner, folders, names in os.walk(found[-1]):
                folders[:] = sorted(name for name in folders if name != ".git")
                found += [os.path.join(inner, name) for name in sorted(names)]
                if len(found) > _MOST_FILES:
                    return found
        return found


def _branch_file(folder: str) -> str:
    """The file of the current branch; that of HEAD when it is on none."""
    head = os.path.join(folder, ".git", "HEAD")
    try:
        with open(head, encoding="utf-8", errors="replace") as file:
            said = file.read(1024)
    except OSError:
        return head
    if not said.startswith("ref:"):
        return head
    return os.path.join(folder, ".git", said.removeprefix("ref:").strip())
