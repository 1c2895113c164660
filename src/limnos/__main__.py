"""`limnos` and `python -m limnos`. The first help is printed before anything heavy is imported."""

import gc
import importlib
import io
import os
import sys

from limnos.frontends.cli import help as help_texts
from limnos.frontends.cli.output import discard, to_stderr, to_stdout
from limnos.kernel.errors import StorageError

_CLOSED_PIPE = 141
# The modules that a command loads make some 40,000 objects that stay; looking through them for garbage in
# between takes 7 of 130 ms.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    unicode = _reconfigure()
    try:
        code = _run(sys.argv[1:], unicode)
        sys.stdout.flush()
    except BrokenPipeError:
        code = _CLOSED_PIPE
        discard(sys.stdout)
    except StorageError as error:
        to_stderr(f"error: {error.what}\nfix: {error.fix}\n")
        code = error.exit_code
    sys.exit(code)


def _run(arguments: list[str], unicode: bool) -> int:
    if arguments in (["--help"], ["-h"], ["help"]):
        to_stdout(help_texts.top())
        return 0
    return importlib.import_module("limnos.frontends.cli.main").run(arguments, unicode=unicode)


def _reconfigure() -> bool:
    """Make the streams UTF-8 that never fails; whether they were UTF-8 before, so that signs can show.

    A stream that the caller closed leads to nowhere, so that nothing else gets its number. One that was left
    non-blocking waits again: else what is not there yet would count as the end.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            while (nowhere := os.open(os.devnull, os.O_RDWR)) < number:
                pass
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w"))
        elif not os.get_blocking(number):
            os.set_blocking(number, True)
    unicode = all(
        (stream.encoding or "").lower().replace("-", "") == "utf8" for stream in (sys.stdout, sys.stderr)
    )
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    return unicode


if __name__ == "__main__":
    main()
