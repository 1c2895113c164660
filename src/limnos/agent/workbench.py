"""Putting together what commands need in one folder: their environment, the sandbox, the stored rules."""

import os
import pwd
import shutil
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from limnos.agent import deferred
from limnos.agent.commands import SYSTEM_PATH, Commands, Workbench, extra_folders
from limnos.agent.rules import Reading, StoredRules
from limnos.agent.settings import Environment, Settings

if TYPE_CHECKING:
    from limnos.agent.shell import Place
    from limnos.kernel.findings import Findings
    from limnos.process.profile import NoSandbox
    from limnos.process.sandbox import Sandbox

PERSONA = "default"


@cache
def probe() -> "Sandbox | NoSandbox":
    """The sandbox of this machine, looked for once."""
    return deferred.sandbox.probe()


def commands_of(environment: Environment, settings: Settings, folder: str) -> Commands:
    """The command lines of `folder`, as the command tool and the gate see them."""
    hidden = (str(environment.home), str(environment.cache / "limnos"))
    home = environment.text("HOME") or os.path.expanduser("~")
    return Commands(
        Workbench(
            workspace=os.path.realpath(folder),
            environment=environment.child_environment(),
            place=cache(partial(place_of, environment, folder)),
            sandbox=probe,
            hidden=tuple(map(os.path.realpath, hidden)),
            folders=extra_folders(settings.command_folders, hidden, home),
        )
    )


def place_of(environment: Environment, folder: str) -> "Place":
    """What a path and a program word mean in `folder`."""
    real = os.path.realpath(folder)
    return deferred.shell.Place(
        cwd=real,
        home=environment.text("HOME") or os.path.expanduser("~"),
        state=str(environment.home),
        user=_user(),
        resolve=os.path.realpath,
        program=partial(program_in, environment.child_environment(), real),
    )


def program_in(environment: Mapping[str, str], folder: str, word: str) -> str:
    """The file that runs for the program `word`, links followed; empty when there is none."""
    if not word or "\0" in word:
        return ""
    name = os.path.join(folder, word) if "/" in word else word
    found = shutil.which(name, path=environment.get("PATH", os.defpath))
    return os.path.realpath(os.path.join(folder, found)) if found else ""


def reading_of(environment: Environment, folder: str) -> Reading:
    """How rules are read in `folder`: a program word stands for what PATH names.

    Where that lies in the workspace, which may have planted it, the system's own program comes first.
    """
    programs = partial(program_in, environment.child_environment(), os.path.realpath(folder))

    def locate(word: str) -> str:
        found = programs(word)
        if found.startswith(os.path.realpath(folder) + "/"):
            return program_in({"PATH": SYSTEM_PATH}, folder, word) or found
        return found

    def understand(text: str) -> "Findings":
        return deferred.shell.inspect(text, place_of(environment, folder)).findings

    return Reading(understand, locate)


def rules_of(environment: Environment, folder: str) -> StoredRules:
    """The stored rules of the persona and those that hold everywhere."""
    return StoredRules(Path(environment.home), PERSONA, reading_of(environment, folder))


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""
