"""The session of this folder that a crash cut short, so that a new chat does not pass over it in silence."""

import os
from pathlib import Path

from limnos.agent.build import home
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.kernel.errors import StorageError
from limnos.service.client import Kernel, SessionSummary

_LOOKED_AT = 20  # sessions: each costs a look at both ends of its file, and a start must stay quick


def tell_interrupted(console: Console, kernel: Kernel) -> None:
    """Name the newest session of this folder when its last turn has no end."""
    try:
        last = _newest_here(console, kernel)
    except StorageError:  # an old file that cannot be read must not stand in the way of a new chat
        return
    if last is not None and last.state == "interrupted":
        name = one_line(last.id)
        text = f"session {name} was interrupted  next: limnos open {name}"
        console.say_line(console.look.signed("ask", text))


def _newest_here(console: Console, kernel: Kernel) -> SessionSummary | None:
    """The newest session with a turn that was started in this folder, among the newest of all."""
    folder, files = os.path.realpath(console.folder), home(console.environment).files
    begun = (row for row in kernel.sessions(_LOOKED_AT) if row.state != "empty")
    return next((row for row in begun if files.started_in(Path(row.path)) == folder), None)
