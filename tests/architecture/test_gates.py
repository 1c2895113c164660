"""The gates: sizes, shapes and habits. An exemption is listed by name with its reason."""

import ast
import statistics

import pytest

from tests.architecture.source import Module, functions, modules

MAX_MODULE = 400
MAX_FUNCTION = 60
MAX_FUNCTION_P95 = 40
MAX_NESTING = 4
MAX_PARAMETERS = 6

# The borders where any fault of foreign code becomes data.
BROAD_CATCHES = {
    "limnos.kernel.calls": "the border to tools",
    "limnos.kernel.tools": "the border to tools: their previews",
    "limnos.kernel.stages": "the border to stage handlers",
    "limnos.service.socket": "the border to clients: their request fails, the daemon lives",
    "limnos.plugins.services": "the border to plugins: what they ask always gets an answer",
    "limnos.sdk.serving": "the border to a plugin's own functions",
    "limnos.frontends.cli.main": "the border to the person: a fault becomes two lines and a log",
}

_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _nesting(node: ast.AST, level: int = 0) -> int:
    deepest = level
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        is_elif = isinstance(node, ast.If) and isinstance(child, ast.If) and child in node.orelse
        deepest = max(deepest, _nesting(child, level + (isinstance(child, _BLOCKS) and not is_elif)))
    return deepest


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = node.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_a_module_fits_in_400_lines(module: Module) -> None:
    assert module.text.count("\n") <= MAX_MODULE


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_functions_are_short_shallow_and_narrow(module: Module) -> None:
    for node in functions(module):
        assert _length(node) <= MAX_FUNCTION, f"{node.name} is too long"
        assert _nesting(node) <= MAX_NESTING, f"{node.name} is nested too deep"
        assert _parameters(node) <= MAX_PARAMETERS, f"{node.name} has too many parameters"


def test_nearly_all_functions_fit_in_40_lines() -> None:
    lengths = [_length(node) for module in modules() for node in functions(module)]

    assert statistics.quantiles(lengths, n=20)[-1] <= MAX_FUNCTION_P95


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_nothing_is_imported_inside_a_function(module: Module) -> None:
    for node in functions(module):
        inner = [child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)]
        assert not inner, f"{node.name} imports"


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_broad_catches_stand_only_at_the_borders(module: Module) -> None:
    caught = {
        name.id
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ExceptHandler)
        for name in ast.walk(node.type or ast.Name("bare"))
        if isinstance(name, ast.Name) and not _reraises(node)
    }

    assert module.name in BROAD_CATCHES or not caught & {"bare", "Exception", "BaseException"}


def _reraises(node: ast.ExceptHandler) -> bool:
    return any(isinstance(child, ast.Raise) and child.exc is None for child in node.body)


def test_the_loop_fits_in_120_lines_and_needs_only_the_kernel() -> None:
    loop = next(module for module in modules() if module.name == "limnos.kernel.loop")

    assert loop.text.count("\n") <= 120
    imports = [node for node in loop.tree.body if isinstance(node, ast.ImportFrom)]
    assert all(node.module is not None and node.module.startswith("limnos.kernel.") for node in imports)


def test_vague_module_names_are_not_used() -> None:
    vague = {"utils", "helpers", "manager", "common", "misc"}

    assert not [module.name for module in modules() if module.name.rsplit(".", 1)[-1] in vague]
