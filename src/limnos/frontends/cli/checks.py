"""What `limnos doctor` looks at: each check says what it found and, where something is wrong, the fix."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from limnos.agent.models import SCRIPTED
from limnos.agent.settings import load
from limnos.agent.workbench import probe, rules_of
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.fetching import chosen_name, weights
from limnos.frontends.cli.probing import ask_server
from limnos.frontends.cli.times import counted, size
from limnos.kernel.errors import LimnosError
from limnos.plugins.catalogue import catalogue as plugins_of
from limnos.plugins.locked import Broken
from limnos.plugins.places import builtin_folders
from limnos.process.profile import NoSandbox
from limnos.providers.catalogue import catalogue
from limnos.providers.embedded_runtime import CPU_FLAGS, missing_cpu_flags

State: TypeAlias = Literal["done", "ask", "failed", "idle"]
_LEAST_FREE = 1_000_000_000


class Check(NamedTuple):
    """One line of the report; `state` is the sign: done, ask (look at it), failed or idle (absent).

    Only what a person can mend has a fix.
    """

    name: str
    state: State
    text: str
    fix: str = ""


def checks(console: Console) -> Iterator[Check]:
    """All checks, in the order in which they are shown."""
    yield _home(console)
    yield _disk(console)
    yield _settings(console)
    yield _rules(console)
    yield _model(console)
    yield from _plugins(console)
    yield sandbox_check()
    yield _processor()
    yield _terminal(console)
    yield _python()


def _home(console: Console) -> Check:
    home = console.environment.home
    place = console.look.path(str(home))
    there = _existing(home)
    if not os.access(there, os.W_OK):
        fix = "name another folder in LIMNOS_HOME"
        return Check("home", "failed", f"{place} cannot be written", fix)
    if home.is_dir() and home.stat().st_mode & 0o077:
        return Check("home", "ask", f"{place} can be read by others", f"chmod 700 {place}")
    return Check("home", "done", place if home.is_dir() else f"{place}, made at the first use")


def _disk(console: Console) -> Check:
    free = shutil.disk_usage(_existing(console.environment.home)).free
    if free < _LEAST_FREE:
        return Check("disk", "failed", f"{size(free)} free", "free some space on that disk")
    return Check("disk", "done", f"{size(free)} free")


def _settings(console: Console) -> Check:
    try:
        load(console.environment)
    except LimnosError as error:
        return Check("settings", "failed", error.what, error.fix)
    return Check("settings", "done", "every value can be read")


def _rules(console: Console) -> Check:
    try:
        kept = rules_of(console.environment, console.folder).listed()
    except LimnosError as error:
        return Check("rules", "failed", error.what, error.fix)
    return Check("rules", "done", f"{counted(len(kept), 'rule')} stored" if kept else "none stored")


def _model(console: Console) -> Check:
    try:
        name = chosen_name(load(console.environment))
    except LimnosError:
        return Check("model", "idle", "unknown while the settings cannot be read")
    entry = catalogue().get(name)
    if entry is None:
        return _server(console, name)
    cache = weights(console.environment)
    if not cache.has(entry):
        return Check("model", "failed", f"{name} is not on this machine", f"limnos model get {name}")
    try:
        cache.ready(entry)
    except (LimnosError, OSError) as error:
        return Check("model", "failed", str(error), f"limnos model get {name}")
    return Check("model", "done", f"embedded {name}, hash as pinned")


def _plugins(console: Console) -> Iterator[Check]:
    """Nothing where there is no plugin."""
    found = plugins_of(console.environment.home, builtin_folders())
    wrong = [one.name for one in (*found.plugins, *found.broken) if isinstance(one, Broken) or one.down]
    count = len(found.plugins) + len(found.broken)
    if wrong:
        yield Check("plugins", "ask", f"{', '.join(wrong)}: down, of {count}", "limnos plugins list")
    elif count:
        yield Check("plugins", "done", counted(count, "plugin"))


def _server(console: Console, name: str) -> Check:
    if name.startswith(SCRIPTED):
        return Check("model", "done", f"{name}, a script that plays the model")
    try:
        ask_server(console.environment, name)
    except LimnosError as error:
        return Check("model", "failed", f"{name}: {error.what}", error.fix)
    return Check("model", "done", f"{name}, its server answers")


def sandbox_check() -> Check:
    """Whether commands run in a sandbox; without one every command asks."""
    found = probe()
    if isinstance(found, NoSandbox):
        return Check(
            "sandbox", "ask", f"{found.why}: commands run with your rights, so every one asks", found.fix
        )
    if found.note:
        return Check("sandbox", "ask", found.note)
    return Check("sandbox", "done", f"bubblewrap, system call filter, Landlock {found.landlock}")


def _processor() -> Check:
    machine = platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Check("cpu", "idle", f"{machine}, its abilities are unknown here")
    if machine not in ("x86_64", "AMD64"):
        return Check("cpu", "done", f"{machine}, {os.cpu_count()} cores")
    if missing := missing_cpu_flags(text):
        fix = "use a server instead: limnos config set providers.own.base_url ADDRESS"
        return Check("cpu", "failed", f"no {', '.join(missing)}, the embedded model cannot run", fix)
    return Check("cpu", "done", f"{os.cpu_count()} cores with {', '.join(CPU_FLAGS)}")


def _terminal(console: Console) -> Check:
    terminal = console.terminal
    name = console.environment.text("TERM") or "no TERM"
    if not terminal.stdout and not terminal.stderr:
        return Check("terminal", "idle", "absent: the output goes to a file or a program")
    if not terminal.unicode:
        fix = "set LANG to a UTF-8 locale, for example C.UTF-8"
        return Check("terminal", "ask", f"{name}, not UTF-8: ASCII signs, no live region", fix)
    if terminal.dumb:
        return Check(
            "terminal", "ask", f"{name}: whole lines, no colours", "set TERM, for example xterm-256color"
        )
    columns = terminal.size().columns
    return Check("terminal", "done", f"{name}, UTF-8, {columns} columns")


def _python() -> Check:
    return Check("python", "done", f"{platform.python_version()}, {sys.executable}")


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())
