"""Names in a working folder that decide what runs later: the table of the file tools and of the gate.

The sandbox has a list of its own, of those that it can hold.

Writing one of them is a way to run something when nobody looks. This is data and comparison of names only;
whoever asks resolves links first.
"""

import unicodedata
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["file", "folder"]


class Protected(NamedTuple):
    """`parts` are the names from some folder down, at any depth; of a `folder` all below it is meant too.

    `reason` says who acts on it. `everyday` places are also written by ordinary work (git keeps its state
    there): a tool that edits them asks, a sandbox has to leave them writable.
    """

    parts: tuple[str, ...]
    kind: Kind
    reason: str
    everyday: bool = False


def _all(reason: str, kind: Kind, *paths: str) -> tuple[Protected, ...]:
    return tuple(Protected(tuple(path.split("/")), kind, reason) for path in paths)


# The first that fits gives the reason: special places stand before the folder that holds them.
TABLE: Final = (
    *_all("git runs what is in it", "folder", ".git/hooks", ".githooks", ".husky"),
    *_all("git takes commands from it", "file", ".git/config", ".git/config.worktree", ".gitconfig"),
    *_all("git takes commands from it", "folder", ".config/git"),
    *_all("it tells git where its hooks and settings are", "file", ".git/commondir", ".gitmodules"),
    *_all("hooks and settings of submodules and worktrees are in it", "folder", ".git/modules"),
    Protected((".git", "worktrees"), "folder", "settings of worktrees are in it", everyday=True),
    *_all("it tells git which folder is a repository", "file", ".git"),
    Protected((".git",), "folder", "git keeps its state in it", everyday=True),
    *_all("limnos takes settings from it", "folder", ".limnos"),
    *_all("it names programs that an agent starts", "file", ".mcp.json", "mcp.json"),
    *_all("an agent takes commands from it", "folder", ".claude", ".codex", ".cursor", ".gemini"),
    *_all("an editor runs tasks and settings from it", "folder", ".vscode", ".idea", ".zed", ".fleet"),
    *_all("an editor runs it", "folder", ".vim", ".config/nvim", ".emacs.d", ".devcontainer"),
    *_all("an editor runs it", "file", ".vimrc", ".exrc", ".nvimrc", ".emacs", ".dir-locals.el"),
    *_all(
        "your shell runs it at start", "file",
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
        ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login",
        ".logout", ".inputrc", ".pam_environment",
    ),
    *_all("your shell runs it at start", "folder", ".config/fish", ".oh-my-zsh"),
    *_all("direnv runs it when the folder is entered", "file", ".envrc"),
    *_all(
        "your session runs it when you sign in", "file",
        ".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".xserverrc", ".tmux.conf", ".screenrc",
    ),
    *_all(
        "your session runs it when you sign in", "folder",
        ".config/autostart", ".config/systemd", ".config/environment.d", ".local/share/systemd",
        ".local/share/applications", "Library/LaunchAgents",
    ),
    *_all("it decides who may sign in and what ssh runs", "folder", ".ssh"),
    *_all("Python runs it at every start", "file", "sitecustomize.py", "usercustomize.py"),
    *_all("a debugger runs it", "file", ".gdbinit", ".lldbinit", ".pdbrc"),
    *_all("a package tool takes commands from it", "file", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc"),
    *_all("a build tool takes commands from it", "file", ".cargo/config.toml", ".cargo/config", "mise.toml"),
    *_all("a hook runner runs what it names", "file", ".pre-commit-config.yaml", "lefthook.yml"),
    *_all("your CI runs it", "folder",
        ".github/workflows", ".github/actions", ".gitea", ".forgejo", ".gitlab", ".circleci", ".buildkite",
        ".woodpecker",
    ),
    *_all("your CI runs it", "file",
        ".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", ".cirrus.yml", "appveyor.yml",
        ".appveyor.yml", "cloudbuild.yaml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "Jenkinsfile",
        ".build.yml",
    ),
)  # fmt: skip


def protected(parts: Sequence[str], first: int = 0) -> Protected | None:
    """The entry that the path of these names falls under, or None.

    Names are compared as the most forgiving disk would: without case, composition, characters that are not
    seen, and the dots and blanks that Windows drops. Those before `first` (of the folder that is worked in)
    count only together with later ones.
    """
    keys = [name_key(part) for part in parts]
    for entry, wanted in _KEYS:
        for start in range(len(keys) - len(wanted) + 1):
            end = start + len(wanted)
            if end > first and keys[start:end] == wanted and (entry.kind == "folder" or end == len(keys)):
                return entry
    return None


def name_key(name: str) -> str:
    """One name of a path in the form in which disks that ignore case and composition compare it."""
    if not name.isascii():
        seen = "".join(char for char in name if unicodedata.category(char) != "Cf")
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).casefold())
    short = name.casefold().rstrip(". ")
    return ".git" if short == "git~1" else short or name


_KEYS: Final = tuple((entry, [name_key(part) for part in entry.parts]) for entry in TABLE)
