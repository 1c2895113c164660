"""A new plugin is one that can be installed at once."""

import ast
from pathlib import Path

import pytest

from limnos.kernel.errors import UsageError
from limnos.plugins.install import install
from limnos.plugins.reading import read_manifest
from limnos.plugins.scaffold import scaffold


@pytest.mark.parametrize("name", ["weather", "my-mail_2"])
def test_a_new_plugin_is_read_and_installed(tmp_path: Path, name: str) -> None:
    made = scaffold(name, tmp_path / "new")
    module = name.replace("-", "_")

    manifest = read_manifest(made)
    assert manifest.name == name
    assert manifest.capabilities == ()
    (tool,) = manifest.tools
    for file in (f"{module}.py", f"test_{module}.py"):
        tree = ast.parse((made / file).read_text())
        names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert tool.name in names or file.startswith("test_")
    assert install(made, tmp_path / "home", [], lambda _: True) is not None


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", "1a", "a" * 41])
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        scaffold(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    made = scaffold("a", tmp_path)
    (made / "a.py").write_text("mine")

    with pytest.raises(UsageError, match="there already"):
        scaffold("a", tmp_path)
    assert (made / "a.py").read_text() == "mine"
