"""Where a command would run, and what a path in it means there."""

import fnmatch
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from limnos.agent.shell.tables import names
from limnos.kernel.protected import name_key, protected

MAX_FOLDERS = 8
MAX_PATHS = 2_000  # of one command that are looked at before it passes
UNKNOWN = "\0"  # stands in a guessed text for what only the shell knows
# Links of a process: to its root and to its folder.
_PROCESS_LINK = re.compile(r"/+proc/+[^/]+/+(?:task/+[^/]+/+)?(root|cwd)(?=/|$)")
# What another process was started with, and what it holds: limnos itself has keys there.
_MEMORY = re.compile(r"/proc/(?!self/|thread-self/)[^/]+/(task/[^/]+/)?(environ|mem)")
_KEYS = names(
    ".env .aws .azure .gcloud .gnupg .kube .docker .netrc .git-credentials .cargo "
    ".gitattributes .config .local"
)


def _same(path: str) -> str:
    return path


def _no_program(word: str) -> str:
    del word
    return ""


class Place(NamedTuple):
    """Facts of the machine: the folder, the home, the folder of limnos' state, the user's name.

    `resolve` gives a path with all its links followed; `program` the file that a program word means, or "".
    The defaults look at nothing.
    """

    cwd: str
    home: str
    state: str
    user: str
    resolve: Callable[[str], str] = _same
    program: Callable[[str], str] = _no_program


class Paths(NamedTuple):
    """Meanings of a path as written: `absolute`, once for each folder that the command may be in then.

    `known` is false when a part of it is only known to the shell.
    """

    absolute: tuple[str, ...]
    known: bool = True


def meanings(text: str, place: Place, folders: Sequence[str]) -> Paths:
    """What `text` may name from `folders`, normalised as written and with links followed."""
    known = UNKNOWN not in text
    if text.startswith("/") and known:
        folders = folders[:1] or (place.cwd,)
    if text.startswith(UNKNOWN):
        return Paths((), False)
    found: dict[str, None] = {}
    if links := _PROCESS_LINK.match(text):
        rest = text[links.end() :].lstrip("/")
        bases = ("/",) if links.group(1) == "root" else folders
        text, folders = rest or ".", bases
    for folder in folders:
        if UNKNOWN in folder and not text.startswith("/"):
            known = False
            continue
        path = normal(posixpath.join(folder, text))
        found[path] = None
        if "\0" not in path:
            found[place.resolve(posixpath.join(folder, text))] = None
    return Paths(tuple(found), known)


def join(folders: list[str], more: Iterable[str]) -> None:
    """Add folders that a command may be in as well."""
    for folder in more:
        if folder not in folders and len(folders) < MAX_FOLDERS:
            folders.append(folder)


def normal(path: str) -> str:
    """Without `.`, `..` and doubled slashes."""
    path = posixpath.normpath(path)
    return path[1:] if path.startswith("//") else path


def is_within(path: str, folder: str) -> bool:
    """Whether `path`, which may hold `*`, `?` and `[]`, may be `folder` or below it. Case does not count."""
    path, folder = path.casefold(), folder.casefold()
    if folder == "/":
        return True
    if path == folder or path.startswith(folder + "/"):
        return True
    if not has_pattern(path):
        return False
    parts, wanted = path.split("/"), folder.split("/")
    return len(parts) >= len(wanted) and all(
        one == other or (has_pattern(one) and _may_match(one, other))
        for one, other in zip(parts, wanted, strict=False)
    )


def _may_match(pattern: str, name: str) -> bool:
    """As in bash, a name that starts with a dot is only matched by a pattern that does."""
    return pattern.startswith(".") >= name.startswith(".") and fnmatch.fnmatchcase(name, pattern)


def has_pattern(path: str) -> bool:
    """Whether a path holds what the shell replaces by names of files."""
    return "*" in path or "?" in path or "[" in path


def is_inside(paths: Paths, place: Place) -> bool:
    """Whether every meaning lies in the working folder (not above it, not beside it)."""
    roots = {place.cwd, place.resolve(place.cwd)}
    return paths.known and all(
        any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)
        for path in paths.absolute
    )


def reaches_state(paths: Paths, place: Place) -> bool:
    """Whether a meaning is limnos' own state, lies in it, or is the memory of another process."""
    states = {place.state, place.resolve(place.state)}
    return any(
        _MEMORY.fullmatch(path) or is_within(path, state) for path in paths.absolute for state in states
    )


def protected_name(paths: Paths, place: Place) -> str:
    """The first name on the way that decides what runs later or holds keys; "" when there is none."""
    for path in paths.absolute:
        names = path.split("/")[1:]
        first = place.cwd.count("/") if is_within(path, place.cwd) else 0
        entry = protected(names, first)
        if entry is not None:
            return "/".join(entry.parts)
        for name in names[first:]:
            if name_key(name) in _KEYS:
                return name
    return ""


def first_fault(paths: Iterable[str], place: Place, folders: Sequence[str]) -> str:
    """Why something may not be written at one of `paths`: a short phrase, "" when all may be."""
    different = dict.fromkeys(paths)
    if len(different) > MAX_PATHS:
        return f"{len(different)} paths, more than can be looked at"
    for text in different:
        paths_of = meanings(text, place, folders)
        if not paths_of.known:
            return "a path that only the shell knows"
        if not is_inside(paths_of, place):
            return f"{text}, outside the working folder"
        if name := protected_name(paths_of, place):
            return f"{text}, which is protected ({name})"
    return ""
