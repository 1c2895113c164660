"""Parts of ours that a start may not need, loaded at their first use: `deferred.shell.inspect`.

As `limnos.lazy` is for the modules of others.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limnos.agent import export as export
    from limnos.agent import git_calls as git_calls
    from limnos.agent import shell as shell
    from limnos.process import sandbox as sandbox
    from limnos.sdk import programs as programs

_PARTS = {
    "export": "limnos.agent.export",
    "git_calls": "limnos.agent.git_calls",
    "programs": "limnos.sdk.programs",
    "sandbox": "limnos.process.sandbox",
    "shell": "limnos.agent.shell",
}


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"limnos.agent.deferred has no part {name!r}; add it to the table")
    module = importlib.import_module(_PARTS[name])
    globals()[name] = module
    return module
