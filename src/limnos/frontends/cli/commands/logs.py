"""`limnos logs`."""

import os
import time
from pathlib import Path
from typing import Annotated

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import visible
from limnos.frontends.cli.words import Option
from limnos.kernel.errors import UsageError
from limnos.service.log import last_lines
from limnos.service.place import Place

_PAUSE_SECONDS = 0.2


def logs(
    console: Console,
    lines: Annotated[int, Option("-n", metavar="N", help="the last N lines (50)")] = 50,
    follow: Annotated[bool, Option("--follow", help="go on with what comes; Ctrl-C ends it")] = False,
) -> None:
    """Show what the daemon said."""
    if lines < 0:
        raise UsageError(f"-n is {lines}, and must not be negative", "limnos logs -n 50")
    path = Place(console.environment.home).log
    place = _size(path)
    found = last_lines(path, lines)
    if not found and not follow:
        console.say("the daemon has said nothing yet  next: limnos up")
    for text in found:
        console.data(visible(text) + "\n")
    while follow:
        place = _go_on(console, path, place)
        time.sleep(_PAUSE_SECONDS)


def _go_on(console: Console, path: Path, place: int) -> int:
    """Print what was added behind `place`; where it ends now. A log that began anew is read whole."""
    size = _size(path)
    if size == place:
        return place
    with path.open("rb") as file:
        file.seek(place if size > place else 0)
        data = file.read()
        place = file.tell()
    whole, _, rest = data.rpartition(b"\n")
    if whole:
        console.data(visible(whole.decode("utf-8", "replace")) + "\n")
    return place - len(rest)


def _size(path: Path) -> int:
    return path.stat().st_size if os.path.exists(path) else 0


FUNCTIONS = {"": logs}
