"""Names that decide what runs later are known in every spelling, and ordinary names are left alone."""

import pytest

from limnos.kernel.protected import TABLE, protected
from limnos.process.protected import IN_WORKSPACE


@pytest.mark.parametrize(
    ("path", "says"),
    [
        (".git/hooks/pre-commit", "git runs"),
        ("vendor/lib/.git/hooks/post-checkout", "git runs"),
        (".git/config", "takes commands"),
        (".git/modules/a/config", "submodules"),
        ("sub/.git", "which folder is a repository"),
        (".git/HEAD", "keeps its state"),
        (".gitmodules", "tells git"),
        (".limnos/rules.toml", "limnos"),
        (".mcp.json", "agent starts"),
        (".vscode/tasks.json", "editor"),
        (".idea/workspace.xml", "editor"),
        (".bashrc", "shell"),
        (".config/fish/config.fish", "shell"),
        (".github/workflows/ci.yml", "CI"),
        ("Jenkinsfile", "CI"),
    ],
)
def test_a_place_that_something_runs_is_named_with_who_runs_it(path: str, says: str) -> None:
    entry = protected(path.split("/"))

    assert entry is not None
    assert says in entry.reason


@pytest.mark.parametrize(
    "path",
    [
        ".GIT/Hooks/pre-commit", ".g\u200cit/hooks/x", ".git./hooks/x", ".git /config", "GIT~1/config",
        ".BashRC", ".v\u017fcode/tasks.json", "\uff0egit/config", ".\u0130dea".replace("\u0130", "I") + "/x",
    ],
)  # fmt: skip
def test_spellings_that_a_forgiving_disk_takes_for_the_same_are_the_same(path: str) -> None:
    assert protected(path.split("/")) is not None


@pytest.mark.parametrize(
    "path",
    [
        "a.txt", ".gitignore", ".gitattributes", "git/hooks/x", "hooks/pre-commit", ".github/README.md",
        "config", ".bashrc/notes.txt", ".mcp.json.md", "docs/.vscodeish/x", "src/bashrc", "...", "",
    ],
)  # fmt: skip
def test_ordinary_names_are_not_protected(path: str) -> None:
    assert protected(path.split("/")) is None


def test_the_folder_that_is_worked_in_counts_only_with_what_is_below_it() -> None:
    inside = (".claude", "worktrees", "one", "a.txt")

    assert protected(inside) is not None
    assert protected(inside, first=3) is None
    assert protected((".git", "hooks", "x"), first=1) is not None


def test_every_entry_is_found_by_its_own_name_and_below_it_when_it_is_a_folder() -> None:
    for entry in TABLE:
        below = (*entry.parts, "x") if entry.kind == "folder" else entry.parts
        found = protected(("deep", *below))
        assert found is not None
        assert found.parts == entry.parts


@pytest.mark.parametrize("path", [name.path for name in IN_WORKSPACE])
def test_what_the_sandbox_keeps_from_programs_is_protected_here_too(path: str) -> None:
    assert protected(path.split("/")) or protected([*path.split("/"), "x"])
