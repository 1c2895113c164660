"""`limnos down`."""

from limnos.frontends.cli.console import Console
from limnos.service import control


def down(console: Console) -> int:
    """End the daemon of this home; what runs in it is stopped and closed first."""
    pid = control.stop(console.environment)
    if pid:
        console.done(f"daemon ended, process {pid}", "limnos up")
    else:
        console.say("no daemon holds this home  next: limnos up")
    return 0


FUNCTIONS = {"": down}
