"""The person's terminal in raw mode while a chat runs, and as it was before afterwards."""

import os
import signal
import sys
import termios
from dataclasses import dataclass
from typing import Any

from limnos.frontends.cli.screen import PASTE_OFF, PASTE_ON

_IFLAG, _LFLAG, _CC = 0, 3, 6


@dataclass(slots=True)
class RawTerminal:
    """Keys come one by one and unechoed, output is processed as always."""

    descriptor: int
    _before: list[Any] | None = None

    def enter(self) -> None:
        """Take the terminal; what was typed before is thrown away."""
        self._before = termios.tcgetattr(self.descriptor)
        mode = termios.tcgetattr(self.descriptor)
        mode[_IFLAG] &= ~(termios.ICRNL | termios.INLCR | termios.IXON | termios.ISTRIP)
        mode[_LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        mode[_CC][termios.VMIN], mode[_CC][termios.VTIME] = 1, 0
        termios.tcsetattr(self.descriptor, termios.TCSAFLUSH, mode)
        self.write(PASTE_ON)

    def leave(self) -> None:
        """Give the terminal back."""
        if self._before is not None:
            self.write(PASTE_OFF + "\x1b[?25h")
            termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self._before)
            self._before = None

    def suspend(self) -> None:
        """Stop the process as Ctrl-Z does, and take the terminal again when it goes on."""
        self.leave()
        os.kill(os.getpid(), signal.SIGTSTP)
        self.enter()

    def read(self) -> bytes:
        """What was typed since the last call."""
        return os.read(self.descriptor, 65_536)

    @staticmethod
    def write(text: str) -> None:
        """Pass text on at once."""
        sys.stdout.write(text)
        sys.stdout.flush()
