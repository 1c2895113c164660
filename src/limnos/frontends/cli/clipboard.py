"""Copying source text, not the screen: OSC 52 to the terminal, a file when it is too large for that."""

import base64
from collections.abc import Callable
from pathlib import Path

from limnos.store.whole import write_whole

OSC_LIMIT = 75_000  # bytes before base64; terminals cut at 100 kB of payload


def copy(text: str, write: Callable[[str], None], multiplexer: str, folder: Path) -> Path | None:
    """Put `text` on the clipboard; above `OSC_LIMIT` into a file, whose path is returned.

    `multiplexer` is the value of TERM: inside tmux and screen the sequence is wrapped.
    """
    data = text.encode("utf-8", "replace")
    if len(data) > OSC_LIMIT:
        path = folder / "copied.md"
        write_whole(path, data)
        return path
    sequence = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    if multiplexer.startswith("tmux"):
        sequence = "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    elif multiplexer.startswith("screen"):
        sequence = f"\x1bP{sequence}\x1b\\"
    write(sequence)
    return None
