"""Child processes and the sandbox. `process.sandbox` is loaded at its first use: a start may need none."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limnos.process import sandbox as sandbox


def __getattr__(name: str) -> object:
    if name != "sandbox":
        raise AttributeError(f"limnos.process has no attribute {name!r}")
    return importlib.import_module("limnos.process.sandbox")
