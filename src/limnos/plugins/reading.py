"""Reads `plugin.toml` into a `Manifest`; what is wrong is said with file, line and field, several at once."""

import os
import re
import stat
from pathlib import Path
from typing import Literal, cast

from limnos import lazy
from limnos.plugins.faults import Fault, ManifestError
from limnos.plugins.lines import BoundError, Places
from limnos.plugins.manifest import MIB, NOTHING, ChannelDeclaration, Manifest, PluginLimits
from limnos.plugins.parts import read_channel, read_stage
from limnos.plugins.reserved import NAMES, TOOLS, spelled
from limnos.plugins.schemas import read_settings
from limnos.plugins.tables import Page, Table, shown
from limnos.plugins.tools import read_tool
from limnos.sdk.regular import read_regular
from limnos.wire.frames import PROTOCOL
from limnos.wire.table import CAPABILITIES

FILE = "plugin.toml"
MOST_BYTES = 256 * 1024
MOST_TOOLS = 512
_TOOLS_SPELLED = frozenset(map(spelled, TOOLS))
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_NAME_SAYS = "a small letter, then up to 39 small letters, digits, - and _"
_FACILITY = r"[a-z][a-z0-9_.-]{0,39}"
_NEED = f"{_FACILITY}(@{NAME.pattern})?"
_PYTHON = "python:"
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_PROGRAM = re.compile(r"[A-Za-z0-9._+-]{1,64}")
_FILES = "files:"
_WRITE = ":rw"
_MOST_PARTS = 64  # stages, and channels


def read_manifest(folder: Path, *, builtin: bool = False, known_as: str = "") -> Manifest:
    """What the plugin in `folder` declares. Raises ManifestError with everything that is wrong.

    `known_as` is what people know its file as, where that is another name.
    """
    path = folder / FILE
    file = known_as or str(path)
    try:
        data = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise _whole(file, f"cannot be read: {error.strerror}", f"a plugin has a {FILE}") from None
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _whole(file, "holds bytes that are no UTF-8", "write it as UTF-8", line) from None
    return parse_manifest(text, folder, builtin=builtin, known_as=known_as)


def parse_manifest(text: str, folder: Path, *, builtin: bool = False, known_as: str = "") -> Manifest:
    """What the text of a `plugin.toml` in `folder` declares. Raises ManifestError as `read_manifest` does."""
    file = known_as or str(folder / FILE)
    try:
        places = Places(text)
        values = lazy.tomllib.loads(text)
    except BoundError as error:
        raise _whole(file, error.what, "shorten it", error.line) from None
    except ValueError as error:
        raise _syntax(file, text, str(error)) from None
    page = Page(file, places)
    manifest = _manifest(Table(page, (), values), folder, builtin)
    if page.faults:
        raise ManifestError(sorted(page.faults, key=lambda fault: fault.line))
    return manifest


def _whole(file: str, what: str, fix: str, line: int = 0) -> ManifestError:
    return ManifestError([Fault(file, line, "the file", what, fix)])


def _syntax(file: str, text: str, said: str) -> ManifestError:
    found = re.search(r"\(at line (\d+), column (\d+)\)$", said)
    what = said.partition(" (at ")[0]
    line = int(found[1]) if found else text.rstrip("\n").count("\n") + 1
    column = f", column {found[2]}" if found else ", at its end"
    return _whole(file, f"is no TOML{column}: {shown(what)[1:-1]}", "mend that line", line)


def _manifest(top: Table, folder: Path, builtin: bool) -> Manifest:
    name = top.text("name", form=NAME.pattern, says=_NAME_SAYS)
    _check_protocol(top)
    if not builtin:
        _check_reserved(top, name)
    form = r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,39}"
    stages = [read_stage(table) for table in top.tables("stages", _MOST_PARTS)]
    channels = [read_channel(table) for table in top.tables("channels", _MOST_PARTS)]
    tools = [read_tool(table, folder) for table in top.tables("tools", MOST_TOOLS)]
    for key, names in (("tools", tools), ("stages", stages), ("channels", channels)):
        _check_once(top, key, [one.name for one in names])
    start = top.choice("start", ("on_demand", "eager"), "on_demand")
    manifest = Manifest(
        name=name,
        version=top.text("version", form=form, says="a version such as 1.0.0"),
        description=top.text("description", most=500),
        folder=str(folder),
        entry=_entry(top, folder, builtin),
        license=top.text("license", "", most=100),
        start=cast("Literal['eager', 'on_demand']", start),
        provides=top.texts("provides", _FACILITY, "the name of a facility, such as files"),
        needs=top.texts("needs", _NEED, "the name of a facility, such as files or files@PLUGIN"),
        capabilities=_capabilities(top, builtin=builtin),
        tools=tuple(tools),
        stages=tuple(stages),
        channels=_without_unnamed(channels),
        scenes=top.texts("scenes"),
        settings=read_settings(top.table("settings")) if top.has("settings") else NOTHING,
        limits=_limits(top.table("limits")),
        daemon_only=top.flag("daemon_only", False),
        group=top.text("group", "", form=NAME.pattern, says=_NAME_SAYS),
        proxies=top.texts("proxies", NAME.pattern, _NAME_SAYS),
        builtin=builtin,
        off=top.flag("off", False),
    )
    top.finish()
    return manifest


def _check_protocol(top: Table) -> None:
    value = top.values.get("protocol")
    if not top.has("protocol"):
        top.fault("protocol", "is missing", f"add protocol = {PROTOCOL}")
    elif type(value) is not int:
        top.fault("protocol", f"is {shown(value)}", f"write {PROTOCOL}")
    elif value != PROTOCOL:
        fix = f"get a version of the plugin for protocol {PROTOCOL}, or another limnos"
        top.fault("protocol", f"speaks protocol {shown(value)}, this limnos speaks {PROTOCOL}", fix)


def _check_reserved(top: Table, name: str) -> None:
    if name in NAMES:
        top.fault("name", f"is {name}, a name that only limnos has", "choose another one")
    for number, tool in enumerate(top.items("tools")):
        given = cast("dict[str, object]", tool).get("name") if isinstance(tool, dict) else None
        if isinstance(given, str) and spelled(given) in _TOOLS_SPELLED:
            what = f"is {shown(given)}, the name of a tool of limnos"
            top.page.fault(("tools", number, "name"), what, f"call it {name or 'PLUGIN'}_{given}")


def _check_once(top: Table, key: str, names: list[str]) -> None:
    for number, name in enumerate(names):
        if name and name in names[:number]:
            what, fix = f"is {name}, as one above", "give each a name of its own"
            top.page.fault((key, number, "name"), what, fix)


def _without_unnamed(channels: list[ChannelDeclaration]) -> tuple[ChannelDeclaration, ...]:
    return tuple(channel for channel in channels if channel.name)


def _entry(top: Table, folder: Path, builtin: bool) -> tuple[str, ...]:
    if not top.has("entry"):
        top.fault("entry", "is missing", 'add entry = ["./run.sh"] or entry = "python:MODULE"')
        return ()
    if isinstance(top.values["entry"], str):
        return _python_entry(top, folder, builtin)
    words = _words(top)
    if not words:
        return ()
    fault = _program_fault(words[0], folder)
    if fault:
        top.page.fault(("entry", 0), f"is {shown(words[0])}: {fault}", 'write a program of it, as "./run.sh"')
    return words


def _words(top: Table) -> tuple[str, ...]:
    """The words of a command line; none when something is wrong."""
    words = top.items("entry")
    wrong = [number for number, word in enumerate(words) if not isinstance(word, str) or "\0" in word]
    for number in wrong:
        top.page.fault(("entry", number), f"is {shown(words[number])}", "write a text")
    if not words and isinstance(top.values["entry"], list):
        top.fault("entry", "names no program", 'write entry = ["./run.sh"] or entry = "python:MODULE"')
    return () if wrong else tuple(words)


def _python_entry(top: Table, folder: Path, builtin: bool) -> tuple[str, ...]:
    entry: str = top.values["entry"]
    module = entry.removeprefix(_PYTHON)
    if not entry.startswith(_PYTHON) or not _MODULE.fullmatch(module):
        fix = 'write "python:MODULE", or a list: ["./run.sh", "argument"]'
        top.fault("entry", f"is {shown(entry)}", fix)
        return ()
    place = folder.joinpath(*module.split("."))
    if not builtin and not any(
        one.is_file() for one in (place.with_suffix(".py"), place / "__main__.py", place / "__init__.py")
    ):
        top.fault(
            "entry", f"names the module {module}, which the plugin does not have", f"add {place.name}.py"
        )
    return (entry,)


def _program_fault(program: str, folder: Path) -> str:
    """What is wrong with the first word of an entry: a file of the plugin, or a program of the PATH."""
    if program.startswith(_PYTHON):
        return "this form stands alone, not in a list"
    if "/" not in program:
        return "" if _PROGRAM.fullmatch(program) else "it is no name of a program"
    if program.startswith("/") or ".." in program.split("/"):
        return "it leads out of the plugin"
    try:
        mode = os.lstat(folder / program).st_mode
    except (OSError, ValueError):
        return "it is not there"
    if not stat.S_ISREG(mode):
        return "it is no regular file"
    return "" if mode & stat.S_IXUSR else "it may not be run (chmod +x)"


def _capabilities(top: Table, *, builtin: bool) -> tuple[str, ...]:
    known = [name for name in CAPABILITIES if name != _FILES]
    names = top.texts("capabilities")
    for number, name in enumerate(names):
        fault = _folder_fault(name, builtin=builtin) if name.startswith(_FILES) else ""
        if fault:
            top.page.fault(
                ("capabilities", number),
                f"is {shown(name)}: {fault}",
                "write files:PATH or files:PATH:rw, where PATH is absolute or in ~",
            )
        elif name not in known and not name.startswith(_FILES):
            fix = f"there are: {', '.join(known)}, files:PATH, files:PATH:rw"
            top.page.fault(("capabilities", number), f"{shown(name)} is no capability", fix)
    return names


def _folder_fault(name: str, *, builtin: bool) -> str:
    path = name.removeprefix(_FILES).removesuffix(_WRITE)
    if path == "workspace":
        return "" if builtin else "a process serves all sessions, and each works in another folder"
    if ":" in path:
        return "a folder with a colon in its name, or another right than rw"
    if not path.startswith(("/", "~/")):
        return "no absolute path"
    return "a path with steps in it" if {"..", "."} & set(path.split("/")) else ""


def _limits(table: Table) -> PluginLimits:
    usual = PluginLimits()
    cpu = table.number("cpu", usual.cpu, 1, 10_000_000)
    idle = table.number("idle_stop_s", usual.idle_stop_s, 1.0, 604_800.0)
    limits = PluginLimits(
        memory=table.size("memory", usual.memory, 16 * MIB, 1 << 40),
        cpu=None if cpu is None else int(cpu),
        processes=int(table.number("processes", usual.processes, 1, 4096) or 0),
        files=int(table.number("files", usual.files, 16, 65_536) or 0),
        arena=table.size("arena", usual.arena, 64 * 1024, 256 * MIB),
        idle_stop_s=float(idle or 0),
    )
    table.finish()
    return limits
