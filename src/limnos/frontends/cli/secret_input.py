"""Reading a secret: from a file, from stdin, or typed without echo. Never from the arguments."""

import sys
import termios
from pathlib import Path

from limnos.frontends.cli.console import Console
from limnos.kernel.errors import UsageError
from limnos.sdk.regular import read_regular

_LFLAG = 3
_LONGEST = 64_000  # bytes; the longest keys, signed tokens, have a few thousand
_FILE_FIX = "name a text file with the key"


def ask_secret(console: Console, question: str) -> str:
    """A typed line that is not echoed. Raises UsageError without a terminal."""
    descriptor = sys.stdin.fileno()
    if not console.terminal.can_ask:
        raise UsageError("the value cannot be asked for: this is no terminal", "use --key-file, or stdin")
    before = termios.tcgetattr(descriptor)
    quiet = termios.tcgetattr(descriptor)
    quiet[_LFLAG] &= ~termios.ECHO
    try:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, quiet)
        return console.ask(question)
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
        console.say("")


def read_secret(console: Console, name: str, key_file: Path | None) -> str:
    """The value for `name`: from the file, from stdin if it is no terminal, else asked for."""
    if key_file is not None:
        try:
            return read_regular(key_file, _LONGEST).decode().strip()
        except FileNotFoundError:  # what was typed may be the key itself
            raise UsageError("there is no file that --key-file names", _FILE_FIX) from None
        except OSError as error:
            raise UsageError(f"{key_file} cannot be read: {error.strerror}", _FILE_FIX) from None
        except UnicodeDecodeError:
            raise UsageError(f"{key_file} is no text in UTF-8", _FILE_FIX) from None
    if not console.terminal.stdin:
        return _piped_secret()
    return ask_secret(console, f"Value of {name} (not shown):")


def _piped_secret() -> str:
    line = sys.stdin.readline(_LONGEST + 1)
    if len(line) > _LONGEST:
        raise UsageError(
            f"the first line of stdin has more than {_LONGEST:,} characters", "pipe only the key"
        )
    if "\ufffd" in line:
        raise UsageError("what came on stdin is no text in UTF-8", "pipe only the key")
    return line.strip()
