"""The two ways out of a program, and what it means when one of them is blocked."""

import contextlib
import os
import sys
from typing import TextIO

from limnos.kernel.errors import StorageError


def to_stdout(text: str) -> None:
    """Write `text` at once. Raises BrokenPipeError when nobody reads it, StorageError for a full disk."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard(sys.stdout)
        what = f"the output cannot be written: {error.strerror}"
        raise StorageError(what, "write it to a place that has room") from None


def to_stderr(text: str) -> None:
    """Write `text` at once; where that cannot be, the work goes on without its words."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BrokenPipeError:
        raise
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let all that `stream` holds or gets go into nothing: its last flush must not fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    with contextlib.suppress(OSError, ValueError):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
