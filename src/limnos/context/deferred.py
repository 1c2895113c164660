"""Parts of the engine that a request which fits does not need, loaded at the first prune or recall.

As `limnos.lazy` is for the modules of others.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limnos.context import prune as prune
    from limnos.context import recall as recall

_PARTS = {"prune": "limnos.context.prune", "recall": "limnos.context.recall"}


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"limnos.context.deferred has no part {name!r}; add it to the table")
    module = importlib.import_module(_PARTS[name])
    globals()[name] = module
    return module
