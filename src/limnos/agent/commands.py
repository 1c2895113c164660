"""What a command line comes to in one workspace: understood for the gate, and prepared to run as shown."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from limnos.agent import deferred
from limnos.agent.equivalents import equivalent
from limnos.agent.headlines import INTERPRETERS, headline
from limnos.agent.repositories import out_of_sight
from limnos.agent.sight import unseen
from limnos.kernel.errors import SettingsError
from limnos.kernel.findings import Findings, Part
from limnos.kernel.messages import Arguments, ToolError
from limnos.kernel.seams import Rule
from limnos.kernel.tools import Preview
from limnos.process.profile import NoSandbox, Profile
from limnos.process.spawn import ChildSpec

if TYPE_CHECKING:
    from limnos.agent.shell import Inspection, Place, Plan
    from limnos.process.sandbox import Sandbox

NETWORK = Part(("network",), reason="it asks for the network")
SYSTEM_PATH = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin"
MAX_SCRIPTS = 32
SHELL_FLAGS = ("bash", "--norc", "--noprofile", "-c")


class Workbench(NamedTuple):
    """Where commands run. `environment` is all they see; `hidden` folders are out of their sight.

    `folders` are more folders they may see, with `:rw` behind those they may write to. `sandbox` looks for
    the sandbox once and then knows.
    """

    workspace: str
    environment: Mapping[str, str]
    place: "Callable[[], Place]"
    sandbox: "Callable[[], Sandbox | NoSandbox]"
    hidden: tuple[str, ...]
    folders: tuple[str, ...] = ()


class Commands:
    """The command lines of one workspace. All answers for one text come from one reading of it."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._last: tuple[str, Inspection] | None = None

    @property
    def bench(self) -> Workbench:
        """Where they run."""
        return self._bench

    def unheld(self) -> str:
        """Why every call asks here: no sandbox holds what runs. Empty when one does."""
        sandbox = self._bench.sandbox()
        return f"no sandbox holds it: {sandbox.why}" if isinstance(sandbox, NoSandbox) else ""

    def inspection(self, arguments: Arguments, *, anew: bool = False) -> "Inspection":
        """What the command line means: as it was read last, or `anew`, since links may lead elsewhere."""
        command = str(arguments["command"])
        if anew or self._last is None or self._last[0] != command:
            self._last = (command, deferred.shell.inspect(command, self._bench.place()))
        return self._last[1]

    def findings(self, arguments: Arguments) -> Findings:
        """What the gate decides on, read anew; without a sandbox every command asks."""
        found = self.inspection(arguments, anew=True).findings
        parts = self._parts(arguments)
        if arguments.get("network", False):
            parts = (*parts, NETWORK)
        return found._replace(parts=parts, always=self.unheld() or found.always)

    def _parts(self, arguments: Arguments) -> tuple[Part, ...]:
        """The simple commands with the files that their programs are now, and which the workspace planted."""
        return tuple(self._located(part) for part in self.inspection(arguments).findings.parts)

    def _located(self, part: Part) -> Part:
        if not part.words or part.words[0][:1] in ("<", ">"):
            return part
        part = part._replace(program=self._bench.place().program(part.words[0]))
        usual = self._hidden_by(part)
        if not usual:
            return part
        own = os.path.relpath(part.program, self._bench.workspace)
        why = f"{part.words[0]} is {own} of this folder, not {usual}"
        return part._replace(reason=f"{why}; {part.reason}" if part.reason else why)

    def _hidden_by(self, part: Part) -> str:
        """The system's program in whose place the workspace has put its own; empty when it has not."""
        word = part.words[0] if part.words else "/"
        if "/" in word or not part.program.startswith(self._bench.workspace + "/"):
            return ""
        return shutil.which(word, path=SYSTEM_PATH) or ""

    def preview(self, arguments: Arguments) -> Preview:
        """The command, what it does in a few words, what it needs, and the rule that *always* would store."""
        inspection = self.inspection(arguments)
        needs = deferred.shell.network_programs(inspection)
        parts = self._parts(arguments)
        special = inspection.findings.reasons or any(part.reason for part in parts)
        reasons = () if special else (headline(parts),)
        if needs:
            reasons = (*reasons, f"{', '.join(needs)} uses the network")
        if arguments.get("background", False):
            reasons = (*reasons, "it goes on in the background until this session ends")
        if path := self.unseen(arguments):
            reasons = (*reasons, f"the sandbox does not show it {path}")
        return Preview(str(arguments["command"]), reasons, self._rule(arguments))

    def preflight(self, arguments: Arguments) -> ToolError | None:
        """Why a plain command cannot work here: a program is not installed, a repository is out of sight."""
        inspection = self.inspection(arguments)
        if isinstance(inspection.plan, deferred.shell.Text) or "||" in str(arguments["command"]):
            return None
        parts = self._parts(arguments)
        for part in parts:
            if self._is_missing(part):
                name = part.words[0]
                return ToolError("unavailable", f"{name} is not installed here", self._instead(name))
        if isinstance(self._bench.sandbox(), NoSandbox):
            return None
        words = [part.words for part in parts if part.words]
        faults = (out_of_sight(one, self._bench.workspace) for one in words)
        return next((fault for fault in faults if fault is not None), None)

    def state(self, arguments: Arguments) -> str:
        """A digest of what runs: the reading, programs, scripts named to an interpreter, the surroundings."""
        inspection, parts = self.inspection(arguments), self._parts(arguments)
        programs = [[part.program, identity_of(part.program)] for part in parts if part.program]
        scripts = [identity_of(path) for part in parts for path in self._scripts(part)]
        plan = argv_of(inspection.plan)
        profile = self.profile(arguments)
        around = [sorted(self._bench.environment.items()), profile.digest() if profile else ""]
        known = [plan, repr(inspection.findings), programs, scripts, around]
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()

    def sandbox(self, arguments: Arguments) -> str:
        """The name of the sandbox it runs in, for the record."""
        profile = self.profile(arguments)
        return profile.name if profile else "none"

    def unseen(self, arguments: Arguments) -> str:
        """The first path in the command that the sandbox does not show it; empty when there is none."""
        profile = self.profile(arguments)
        if profile is None:
            return ""
        return unseen(self._parts(arguments), profile.workspace, (*profile.readable, *profile.writable))

    def profile(self, arguments: Arguments) -> Profile | None:
        """What the sandbox lets this command see and do; None without a sandbox."""
        if isinstance(self._bench.sandbox(), NoSandbox):
            return None
        needs = deferred.shell.network_programs(self.inspection(arguments))
        planted = any(map(self._hidden_by, self._parts(arguments)))
        network = bool(arguments.get("network", False)) or bool(needs and not planted)
        return self.usual_profile(network=network)

    def usual_profile(self, *, network: bool = False) -> Profile:
        """What the sandbox lets programs of this workspace see and change."""
        writable = [name.removesuffix(":rw") for name in self._bench.folders if name.endswith(":rw")]
        readable = [name for name in self._bench.folders if not name.endswith(":rw")]
        return Profile(
            workspace=self._bench.workspace,
            hidden=self._bench.hidden,
            readable=tuple(readable),
            writable=tuple(writable),
            network=network,
        )

    def prepared(self, arguments: Arguments) -> "tuple[ChildSpec, Profile | None, Sandbox | None]":
        """What runs, and what it is held by; neither profile nor sandbox where there is none."""
        argv = argv_of(self.inspection(arguments).plan)
        spec = ChildSpec(argv, self._bench.workspace, self._bench.environment)
        sandbox, profile = self._bench.sandbox(), self.profile(arguments)
        return (spec, None, None) if isinstance(sandbox, NoSandbox) else (spec, profile, sandbox)

    def _rule(self, arguments: Arguments) -> Rule | None:
        pattern = deferred.shell.suggestion(self.inspection(arguments))
        first, *more = self._parts(arguments) or (Part(),)
        if pattern is None or more or arguments.get("network", False) or self._hidden_by(first):
            return None
        return Rule("allow", "run_command", pattern, program=first.program)

    def _scripts(self, part: Part) -> list[str]:
        """The files of the workspace that an interpreter is told to run."""
        if not part.words or os.path.basename(part.words[0]).rstrip("0123456789.") not in INTERPRETERS:
            return []
        paths = (os.path.join(self._bench.workspace, word) for word in part.words[1 : MAX_SCRIPTS + 1])
        return [path for path in paths if os.path.isfile(path)]

    def _is_missing(self, part: Part) -> bool:
        if part == NETWORK:
            return False
        word = part.words[0] if part.words else ""
        plain = bool(word) and word[0] not in "<>&" and "/" not in word
        return plain and not part.program and word not in deferred.shell.BUILTINS

    def _instead(self, program: str) -> str:
        other = equivalent(program, self._bench.environment.get("PATH", os.defpath))
        return f"{f'use {other}' if other else 'do it another way'}, or ask the person to install {program}"


def argv_of(plan: "Plan") -> tuple[str, ...]:
    """The words that are executed: those of the parse where it is plain, else bash with the text shown."""
    match plan:
        case deferred.shell.Argv(words=words):
            return tuple(words)
        case deferred.shell.Script(text=text) | deferred.shell.Text(command=text):
            return (*SHELL_FLAGS, text)


def extra_folders(text: str, hidden: Sequence[str], home: str) -> tuple[str, ...]:
    """The folders of `command.folders`.

    Raises SettingsError for one that is not there, or would show the whole home or what is hidden.
    """
    given = [os.path.expanduser(name) for name in _folder_names(text)]
    for name in given:
        folder = name.removesuffix(":rw")
        if not os.path.isabs(folder) or not os.path.isdir(folder):
            raise SettingsError(f"command.folders names {folder}, which is no folder", "give whole paths")
        if _is_above(folder, home) or any(_is_above(folder, one) or _is_above(one, folder) for one in hidden):
            what = f"command.folders names {folder}, which holds what commands must not see"
            raise SettingsError(what, "name a folder inside of it, for example one project")
    return tuple(given)


def _folder_names(text: str) -> list[str]:
    names: list[str] = []
    for piece in filter(None, text.split(":")):
        if piece == "rw" and names:
            names[-1] += ":rw"
        else:
            names.append(piece)
    return names


def _is_above(folder: str, other: str) -> bool:
    """Whether `other` is `folder`, or lies in it."""
    real, other = os.path.realpath(folder), os.path.realpath(other)
    return os.path.commonpath([real, other]) == real


def identity_of(path: str) -> list[int]:
    """Device, inode, size and times of change, of which nobody can set the last: another file has others."""
    try:
        info = os.stat(path)
    except OSError:
        return []
    return [info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns]
