"""The session of this folder that a crash cut short, so that a new chat does not pass over it in silence."""

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.service.client import Kernel


def tell_interrupted(console: Console, kernel: Kernel) -> None:
    """Name the newest session of this folder when its last turn has no end."""
    last = kernel.newest_in(console.folder)
    if last is not None and last.state == "interrupted":
        name = one_line(last.id)
        text = f"session {name} was interrupted  next: limnos open {name}"
        console.say_line(console.look.signed("ask", text))
