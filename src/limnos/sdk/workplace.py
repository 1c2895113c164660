"""The folder that a call works in, through the one door to files."""

from contextlib import suppress
from pathlib import Path

from limnos.sdk.call import Call
from limnos.sdk.files import Files
from limnos.sdk.wire import RefusedError


def files_of(call: Call) -> Files:
    """The files of the call's folder, without what is limnos's own; every change is told to limnos first.

    So `/undo` can take it back.
    """

    def changed(name: str, before: bytes | None, after: bytes | None) -> None:
        # the file is changed by now: a history that cannot be written does not make that untrue
        with suppress(RefusedError):
            call.changed(name, before, after)

    return Files(Path(call.cwd), refused=tuple(map(Path, call.hidden)), on_change=changed)
