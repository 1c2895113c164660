"""Text that comes through stdin, whole and within a bound."""

import sys

from limnos.agent.runner import MAX_INPUT
from limnos.frontends.cli.console import Console
from limnos.kernel.errors import UsageError
from limnos.sdk.texts import decoded

LONGEST = MAX_INPUT * 4  # bytes: a character has at most four, in UTF-8 and UTF-16
_REPLACED = "\ufffd"
_FIX = "put it into a file and name the file in the task"


def piped_text(console: Console) -> str:
    """All of stdin, up to the 1,000,000 characters that an input may have; what is behind is not read.

    Bytes that are no text come as U+FFFD, and the person is told. Raises UsageError for more than that, for
    NUL bytes and when stdin cannot be read.
    """
    try:
        data = sys.stdin.buffer.read(LONGEST + 1)
    except OSError as error:
        raise UsageError(f"stdin cannot be read: {error.strerror or error}", _FIX) from None
    text = decoded(data)
    if text is None or "\x00" in text:
        raise UsageError("stdin is no text: it holds NUL bytes", _FIX)
    if len(data) > LONGEST or len(text) > MAX_INPUT:
        raise too_long()
    if _REPLACED in text and _REPLACED.encode() not in data:
        said = f"stdin holds bytes that are no UTF-8; each stands as {_REPLACED} in the task"
        console.say_line(console.look.signed("ask", said))
    return text.replace("\r\n", "\n")


def too_long() -> UsageError:
    """The error for more than an input may have."""
    return UsageError(f"stdin has more than {MAX_INPUT:,} characters", _FIX)
