"""Who may import what: the kernel stays pure, one module reads the environment, one folder reaches out."""

import ast
import sys

import pytest

from tests.architecture.source import ROOT, Module, imported, modules, used_lazily

DOES_IO = {
    "os", "io", "pathlib", "socket", "ssl", "subprocess", "shutil", "tempfile", "urllib", "http", "ftplib",
    "sqlite3", "multiprocessing", "mmap", "fcntl", "signal", "selectors", "glob", "threading",
}  # fmt: skip
HTTP_CLIENTS = {
    "httpx2",
    "httpcore2",
    "httpx",
    "requests",
    "aiohttp",
    "urllib3",
    "urllib.request",
    "http.client",
}
DANGEROUS = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle"}
KERNEL = [module for module in modules() if module.folder == "kernel"]
ENVIRONMENT = "limnos.agent.settings"
# Become another program, in whose fresh process nothing of ours is imported.
LAUNCHERS = {"limnos.process.launch"}


@pytest.mark.parametrize("module", KERNEL, ids=lambda module: module.name)
def test_the_kernel_imports_only_itself_and_the_standard_library_and_does_no_io(module: Module) -> None:
    for name in imported(module):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names or name.startswith("limnos.kernel"), name
        assert top not in DOES_IO, name


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_only_egress_touches_an_http_client(module: Module) -> None:
    used = (imported(module) | used_lazily(module)) & HTTP_CLIENTS

    assert module.folder == "egress" or module.name == "limnos.lazy" or not used


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_only_the_settings_read_the_environment(module: Module) -> None:
    reads = [
        node
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "os"
        and node.attr in ("environ", "environb", "getenv", "putenv")
    ]

    assert module.name in (ENVIRONMENT, *LAUNCHERS) or not reads


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_no_codec_that_runs_code_is_used(module: Module) -> None:
    calls = {
        node.func.id
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }

    assert not {name.split(".")[0] for name in imported(module)} & DANGEROUS
    assert not calls & {"eval", "exec", "compile", "__import__"}
    assert "allow_pickle=True" not in module.text
    assert "trust_remote_code" not in module.text


def test_no_lock_file_names_a_registry() -> None:
    for path in (*ROOT.glob("requirements*.txt"), ROOT / "pyproject.toml", ROOT / "Makefile"):
        text = path.read_text(encoding="utf-8")
        assert "--index-url" not in text, path.name
        assert "://" not in text, path.name
    assert not (ROOT / "uv.lock").exists()
