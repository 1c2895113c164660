"""The page of tools says of each what its manifest says, and whether it asks."""

from collections.abc import Iterator

import pytest

from limnos.agent.session_tools import kernel_tools
from limnos.agent.toolbox.kernel import catalogue_tool
from limnos.kernel.registry import Catalogue, Registry
from limnos.plugins.places import builtin_folders
from limnos.plugins.reading import read_manifest
from limnos.testing.doubles import FixedClock, MemoryBlobs
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "guide" / "tools.md"
HEAD = "| tool | what it does | asks |\n|---|---|---|\n"
ONLY_WITHOUT = {"run_python", "run_node", "git_status", "git_diff", "git_log", "git_show", "git_blame"}


def row(name: str, description: str, *, needs_approval: bool) -> str:
    """The row of one tool."""
    asks = "without a sandbox" if name in ONLY_WITHOUT else "yes" if needs_approval else "no"
    return f"| `{name}` | {description} | {asks} |\n"


def sections() -> Iterator[tuple[str, str]]:
    """Each heading that has a table, and the rows it must have."""
    for folder in builtin_folders():
        manifest = read_manifest(folder, builtin=True)
        rows = [row(one.name, one.description, needs_approval=one.needs_approval) for one in manifest.tools]
        if rows:
            yield manifest.name, "".join(rows)
    own = kernel_tools(FixedClock(), lambda: "UTC", lambda items: None, MemoryBlobs())
    own.append(catalogue_tool(Catalogue(Registry())))
    yield "limnos itself", "".join(row(one.name, one.description, needs_approval=False) for one in own)


@pytest.mark.parametrize(("heading", "rows"), list(sections()), ids=lambda one: one.split("\n")[0][:20])
def test_every_tool_stands_on_the_page_as_its_manifest_has_it(heading: str, rows: str) -> None:
    text = PAGE.read_text(encoding="utf-8")

    wanted = f"\n## {heading}\n\n{HEAD}{rows}\n"
    assert wanted in text, wanted


def test_every_guard_is_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for folder in builtin_folders():
        manifest = read_manifest(folder, builtin=True)
        assert not manifest.off or f"- `{manifest.name}` " in text
