"""Parts of ours that a start may not need, loaded at their first use: `deferred.shell.inspect`.

As `limnos.lazy` is for the modules of others.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limnos.agent import child as child
    from limnos.agent import embedders as embedders
    from limnos.agent import export as export
    from limnos.agent import git_calls as git_calls
    from limnos.agent import shell as shell
    from limnos.memory import cold as cold
    from limnos.memory import memory as memory
    from limnos.memory import search as search
    from limnos.plugins import host as host
    from limnos.plugins import own_settings as own_settings
    from limnos.plugins import stale as stale
    from limnos.process import sandbox as sandbox
    from limnos.sdk import programs as programs
    from limnos.store import log_lines as log_lines

_PARTS = {
    "child": "limnos.agent.child",
    "embedders": "limnos.agent.embedders",
    "export": "limnos.agent.export",
    "host": "limnos.plugins.host",
    "log_lines": "limnos.store.log_lines",
    "own_settings": "limnos.plugins.own_settings",
    "git_calls": "limnos.agent.git_calls",
    "cold": "limnos.memory.cold",
    "memory": "limnos.memory.memory",
    "search": "limnos.memory.search",
    "programs": "limnos.sdk.programs",
    "sandbox": "limnos.process.sandbox",
    "shell": "limnos.agent.shell",
    "stale": "limnos.plugins.stale",
}


def __getattr__(name: str) -> object:
    if name not in _PARTS:
        raise AttributeError(f"limnos.agent.deferred has no part {name!r}; add it to the table")
    module = importlib.import_module(_PARTS[name])
    globals()[name] = module
    return module
