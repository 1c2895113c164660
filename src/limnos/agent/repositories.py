"""Whether Git inside the sandbox can see the repository that a folder belongs to."""

import os
from pathlib import Path

from limnos.kernel.messages import ToolError

_WITHOUT = frozenset({"clone", "help", "version", "--version", "--help", "-h"})
_LARGEST = 4096
NOT_MADE = ToolError(
    "unavailable",
    "commands cannot make a repository here: what is in .git runs on the person's side later",
    "ask the person to run git init here",
)


def out_of_sight(words: tuple[str, ...], workspace: str) -> ToolError | None:
    """Why this `git` command cannot work in `workspace`: its repository lies outside; None when not."""
    own = Path(workspace, ".git")
    if os.path.basename(words[0]) != "git" or _WITHOUT.intersection(words[1:2]):
        return None
    if own.is_dir():
        return None
    if words[1:2] == ("init",) and not any(word for word in words[2:] if not word.startswith("-")):
        return NOT_MADE
    if own.is_file():
        target = _target(own)
        if target is None or target.is_relative_to(workspace):
            return None
        detail = f"this folder is a worktree of a repository that commands cannot see: {target}"
        return ToolError("unavailable", detail, "ask the person to work in the repository itself")
    if words[1:2] == ("init",):
        return None
    above = next((folder for folder in Path(workspace).parents if (folder / ".git").exists()), None)
    if above is None:
        return None
    detail = f"commands see {workspace} only, and its repository begins above, in {above}"
    return ToolError("unavailable", detail, f"ask the person to start limnos in {above}")


def worktree_of(folder: str) -> str | None:
    """The `.git` of the repository that `folder` is a linked worktree of; None when it is not.

    Both sides must name each other: a folder cannot make itself part of just any repository.
    """
    own = Path(folder, ".git")
    target = _target(own) if own.is_file() else None
    if target is None or target.parent.name != "worktrees":
        return None
    try:
        said = (target / "gitdir").read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return None
    return str(target.parents[1]) if os.path.realpath(said) == os.path.realpath(own) else None


def _target(file: Path) -> Path | None:
    try:
        with file.open("rb") as opened:
            said = opened.read(_LARGEST).decode("utf-8", "surrogateescape")
    except OSError:
        return None
    if not said.startswith("gitdir:"):
        return None
    return Path(os.path.realpath(file.parent / said.removeprefix("gitdir:").strip()))
