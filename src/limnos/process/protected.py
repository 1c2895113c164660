"""Names in a workspace that programs of the person act on: nothing in the sandbox may make or change them."""

import os
from typing import NamedTuple


class Name(NamedTuple):
    """A path below the workspace. With `when_absent` nothing of that name can be made either."""

    path: str
    why: str
    when_absent: bool = True


def _all(why: str, *paths: str, when_absent: bool = True) -> tuple[Name, ...]:
    return tuple(Name(path, why, when_absent) for path in paths)


GIT = ".git"

_SHELL = "a shell runs it when it starts or ends"
_EVERY_START = "programs of the person read it at every start"
_CI = "a CI service runs it with the project's secrets"

# Left alone when absent: names without a dot in front, whose stand-ins would show in every listing, and
# files of CI services that a project without them has no account at.
# Not here at all: .envrc and mise.toml, whose programs ask the person again after a change; build files such
# as Makefile and package.json, which are what the agent is there to work on.
# fmt: off
IN_WORKSPACE: tuple[Name, ...] = (
    *_all("a repository's settings and hooks run programs", GIT),
    *_all("git fetches from where it says", ".gitmodules"),
    *_all("hooks that git runs when core.hooksPath names them", ".husky", ".githooks"),
    *_all(_SHELL, ".bashrc", ".bash_profile", ".bash_login", ".profile",
          ".zshrc", ".zshenv", ".zprofile", ".zlogin"),
    *_all("an editor runs its tasks and settings", ".vscode", ".idea", ".devcontainer", ".zed", ".cursor"),
    *_all("an agent starts the servers and follows the settings in it",
          ".mcp.json", ".limnos", ".claude", ".codex", ".gemini"),
    *_all(_CI, ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", ".forgejo", ".gitea"),
    *_all(_CI, ".travis.yml", ".drone.yml", ".woodpecker", ".woodpecker.yml", ".buildkite", ".appveyor.yml",
          ".gitlab", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml", "appveyor.yml",
          "cloudbuild.yaml",
          when_absent=False),
)
IN_HOME: tuple[Name, ...] = (
    *_all(_SHELL, ".bash_logout", ".bash_aliases", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
          ".inputrc"),
    *_all(_EVERY_START, ".gitconfig", ".config", ".local", ".pam_environment", ".xprofile", ".xsession",
          ".xinitrc", ".vimrc", ".npmrc", ".pypirc", ".tmux.conf"),
    *_all("the shell starts programs from it", "bin", ".cargo", ".pyenv", when_absent=False),
)
SECRET_IN_HOME = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", ".git-credentials", ".password-store",
    ".config/gh", ".config/gcloud", ".config/git/credentials", ".local/share/keyrings", ".mozilla",
    ".thunderbird", ".pki", ".vault-token", ".pgpass", ".bash_history", ".zsh_history", ".python_history",
)
# fmt: on


def names(workspace: str, home: str) -> tuple[tuple[str, Name], ...]:
    """The protected names as (full path, name); those of the home folder too when the workspace holds it."""
    found = [(os.path.join(workspace, name.path), name) for name in IN_WORKSPACE]
    if home and os.path.commonpath((workspace, home)) == workspace:
        known = {path for path, _ in found}
        more = [(os.path.join(home, name.path), name) for name in (*IN_WORKSPACE, *IN_HOME)]
        found += [(path, name) for path, name in more if path not in known]
    return tuple(found)
