"""Whether Git inside the sandbox can see the repository that a folder belongs to."""

import os
from pathlib import Path

from limnos.kernel.messages import ToolError

_WITHOUT = frozenset({"init", "clone", "help", "version", "--version", "--help", "-h"})
_LARGEST = 4096


def out_of_sight(words: tuple[str, ...], workspace: str) -> ToolError | None:
    """Why this `git` command cannot work in `workspace`: its repository lies outside; None when not."""
    if os.path.basename(words[0]) != "git" or (len(words) > 1 and words[1] in _WITHOUT):
        return None
    own = Path(workspace, ".git")
    if own.is_dir():
        return None
    if own.is_file():
        target = _target(own)
        if target is None or target.is_relative_to(workspace):
            return None
        detail = f"this folder is a worktree of a repository that commands cannot see: {target}"
        return ToolError("unavailable", detail, "ask the person to work in the repository itself")
    above = next((folder for folder in Path(workspace).parents if (folder / ".git").exists()), None)
    if above is None:
        return None
    detail = f"commands see {workspace} only, and its repository begins above, in {above}"
    return ToolError("unavailable", detail, f"ask the person to start limnos in {above}")


def _target(file: Path) -> Path | None:
    try:
        with file.open("rb") as opened:
            said = opened.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return None
    if not said.startswith("gitdir:"):
        return None
    return Path(os.path.realpath(file.parent / said.removeprefix("gitdir:").strip()))
