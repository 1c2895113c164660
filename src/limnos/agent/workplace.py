"""The folder a session works in, known by what it is and not by its name."""

import os
from typing import NamedTuple

from limnos.sdk.birth import birth_of


class Workplace(NamedTuple):
    """Implements `kernel.seams.Folder`."""

    path: str

    def identity(self) -> str:
        """See `Folder`."""
        try:
            info = os.stat(self.path)
        except OSError:
            return "absent"
        return f"{info.st_dev}:{info.st_ino}:{birth_of(self.path)}"
