"""The source tree as syntax trees, read once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "limnos"


@dataclass(frozen=True)
class Module:
    """One file: its dotted name, its text and its tree."""

    name: str
    text: str
    tree: ast.Module

    @property
    def folder(self) -> str:
        """The folder of the house it is in."""
        return self.name.split(".")[1] if "." in self.name else ""


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package."""
    found: list[Module] = []
    for path in sorted(SRC.rglob("*.py")):
        name = ".".join(path.relative_to(SRC.parent).with_suffix("").parts).removesuffix(".__init__")
        text = path.read_text(encoding="utf-8")
        found.append(Module(name, text, ast.parse(text)))
    return tuple(found)


def functions(module: Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def imported(module: Module) -> set[str]:
    """Dotted names of what a module imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def used_lazily(module: Module) -> set[str]:
    """Names taken from `limnos.lazy`."""
    return {
        node.attr
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "lazy"
    }
