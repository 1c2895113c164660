"""What git is called with: the arguments of a call checked, so that none of them is ever an option."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from limnos.agent.repositories import out_of_sight, worktree_of
from limnos.kernel.tools import ToolFailure

GIT = (
    "git", "--no-pager", "--no-optional-locks", "--literal-pathspecs",
    "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false",
    "-c", "core.pager=cat", "-c", "core.editor=false", "-c", "core.untrackedCache=false",
    "-c", "color.ui=false", "-c", "column.ui=never", "-c", "advice.statusHints=false",
    "-c", "submodule.recurse=false", "-c", "diff.submodule=short", "-c", "log.showSignature=false",
    "-c", "commit.gpgSign=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "protocol.allow=never",
)  # fmt: skip
READING = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
ALWAYS = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "LC_ALL": "C.UTF-8", "GIT_NO_LAZY_FETCH": "1"}
PLAIN = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
LOG_FORM = "--format=%h %ad %an:%d %s"
COUNT, LINES = 20, 200
# In a sandbox, where /tmp is empty and goes away: what the commit of the paths on stdin would hold.
STAGED_ASIDE = """mkdir /tmp/objects || exit
if [ -f .git/MERGE_HEAD ]; then cp .git/index /tmp/index; else "$@" read-tree HEAD 2>/dev/null; fi
"$@" add -A --pathspec-from-file=- --pathspec-file-nul &&
exec "$@" diff --cached --no-ext-diff --no-textconv --ignore-submodules=dirty --patch-with-stat"""
ASIDE = {"GIT_INDEX_FILE": "/tmp/index", "GIT_OBJECT_DIRECTORY": "/tmp/objects"}
SWITCH = """name=$1; shift
if "$@" show-ref --verify --quiet "refs/heads/$name"; then exec "$@" switch --no-guess "$name"; fi
exec "$@" switch --create "$name\""""

_REF = re.compile(r"(?!-)[^\s\x00-\x20\x7f*?\[\\:]{1,400}(?::[^\x00-\x1f\x7f]{1,4000})?")
_BRANCH = re.compile(
    r"(?![-/.])(?!.*(?:\.\.|//|@\{|/\.|\.lock(?:/|$)|[/.]$))"
    r"[^\x00-\x20\x7f~^:?*\[\\]{1,200}"
)
_BYTE = re.compile(rb"\\x([89a-f][0-9a-f])")

Words = tuple[str, ...]


class Repository(NamedTuple):
    """A repository that calls may look at; `elsewhere` is that of which the folder is a linked worktree."""

    folder: str
    elsewhere: tuple[str, ...] = ()

    @property
    def merging(self) -> bool:
        """Whether a merge waits for its commit."""
        return os.path.exists(os.path.join(self.folder, ".git", "MERGE_HEAD"))


def repository(folder: str, hidden: tuple[str, ...], *, writes: bool) -> Repository:
    """The repository in `folder`. Raises ToolFailure when there is none that the sandbox can show."""
    if os.path.isdir(os.path.join(folder, ".git")):
        return Repository(folder)
    if not writes and (common := worktree_of(folder)) is not None and not _is_in(common, hidden):
        return Repository(folder, (common,))
    if (fault := out_of_sight(("git", "status"), folder)) is not None:
        raise ToolFailure(fault.reason, fault.detail, fault.hint)
    if os.path.exists(os.path.join(folder, ".git")):
        raise ToolFailure("unavailable", "the repository of this folder lies elsewhere", "use run_command")
    raise ToolFailure("not_found", f"{folder} is no Git repository", "ask the person to run git init here")


def steps(tool: str, given: Mapping[str, Any], found: Repository) -> tuple[Words, ...]:
    """The programs to run one after the other. Raises ToolFailure for arguments that git must not get."""
    match tool:
        case "git_status":
            return ((*GIT, "status", "--long", "--ignore-submodules=dirty"),)
        case "git_diff":
            return (_diff(given),)
        case "git_log":
            count = f"--max-count={given.get('count', COUNT)}"
            form = ("--decorate=short", "--date=short", LOG_FORM)
            return ((*GIT, "log", count, *form, *_ref(given), "--", *_path(given)),)
        case "git_show":
            form = ("--format=medium", "--patch-with-stat")
            return ((*GIT, "show", *PLAIN, *form, *_ref(given, "HEAD"), "--", *_path(given)),)
        case "git_blame":
            first = given.get("start_line", 1)
            part = f"-L{first},+{given.get('lines', LINES)}"
            return (
                (*GIT, "blame", "--no-textconv", "--date=short", part, *_ref(given), "--", *_path(given)),
            )
        case "git_commit":
            return _commit(given, found)
        case _:
            return (_branch(given),)


def paths_of(given: Mapping[str, Any]) -> list[str]:
    """The paths of a commit. Raises ToolFailure."""
    return [_exact(path) for path in given.get("paths") or ()]


def _diff(given: Mapping[str, Any]) -> Words:
    staged = ("--cached",) if given.get("staged") else ()
    return (*GIT, "diff", *PLAIN, "--patch-with-stat", *staged, *_ref(given), "--", *_path(given))


def _commit(given: Mapping[str, Any], found: Repository) -> tuple[Words, ...]:
    paths = paths_of(given)
    made = (*GIT, "commit", "--no-verify", "--cleanup=whitespace", f"--message={given['message']}")
    if not paths:
        return (made,)
    only = () if found.merging else ("--only", "--", *paths)  # a merge is committed whole
    return (*GIT, "add", "-A", "--", *paths), (*made, *only)


def _branch(given: Mapping[str, Any]) -> Words:
    name = str(given["name"])
    if not _BRANCH.fullmatch(name):
        raise ToolFailure(
            "invalid_arguments", f"{name!r} is no name of a branch", "use letters, digits, - and /"
        )
    return (
        ("sh", "-c", SWITCH, "sh", name, *GIT)
        if given.get("switch")
        else (*GIT, "branch", "--no-track", name)
    )


def _ref(given: Mapping[str, Any], usual: str = "") -> Words:
    ref = str(given.get("ref") or usual)
    if not ref:
        return ()
    if not _REF.fullmatch(ref):
        raise ToolFailure(
            "invalid_arguments", f"{ref!r} names no commit", "use a branch, a tag, a hash or HEAD~1"
        )
    return (ref,)


def _path(given: Mapping[str, Any]) -> Words:
    path = given.get("path")
    return (_exact(path),) if path else ()


def _exact(path: str) -> str:
    """The path with bytes that are no text as they are: results show those as `\\xe9`."""
    data = path.encode("utf-8", "surrogateescape") if "\0" not in path else b""
    if not data:
        raise ToolFailure("invalid_arguments", f"{path!r} is no path", "name a file")
    return os.fsdecode(_BYTE.sub(lambda found: bytes.fromhex(found[1].decode()), data))


def _is_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)
