"""Parts of ours that a start needs only when plugins changed, loaded at their first use.

As `limnos.lazy` is for the modules of others.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limnos.plugins import settling as settling
    from limnos.plugins import trees as trees

_PARTS = {"settling": "limnos.plugins.settling", "trees": "limnos.plugins.trees"}


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"limnos.plugins.deferred has no part {name!r}; add it to the table")
    module = importlib.import_module(_PARTS[name])
    globals()[name] = module
    return module
