"""The house: which folder may import from which."""

import subprocess
import sys
from pathlib import Path

from tests.architecture.source import ROOT, imported, modules


def test_folders_import_only_from_lower_ones() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stdout


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = _graph()

    assert _circles(graph) == []


def _graph() -> dict[str, set[str]]:
    names = {module.name for module in modules()}
    return {module.name: (imported(module) & names) - {module.name} for module in modules()}


def _circles(graph: dict[str, set[str]]) -> list[str]:
    done: set[str] = set()
    circles: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circles.append(" -> ".join((*path[path.index(name) :], name)))
        elif name not in done:
            for following in sorted(graph[name]):
                visit(following, (*path, name))
            done.add(name)

    for name in sorted(graph):
        visit(name, ())
    return circles
