"""What is wrong with plugins, said to whoever can mend it: several faults at once, each with its place."""

from collections.abc import Sequence
from typing import NamedTuple

from limnos.kernel.errors import LimnosError

MOST = 10  # faults that one error lists


class Fault(NamedTuple):
    """One fault of a file: `line` from 1 (0: the file as a whole), `field` in dotted form, how to mend it."""

    file: str
    line: int
    field: str
    what: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.field} {self.what}; {self.fix}"


class FaultsError(LimnosError):
    """Several things that are wrong at once; `lines` has one for each."""

    def __init__(self, lines: Sequence[str], fix: str) -> None:
        super().__init__("; ".join(_few(lines)), fix)
        self.lines = tuple(_few(lines))


class ManifestError(FaultsError):
    """A `plugin.toml` that says what cannot be."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        super().__init__([str(fault) for fault in faults], f"mend {faults[0].file}, then try again")
        self.faults = tuple(faults)


class LockFault(NamedTuple):
    """Why `plugins` cannot stand together, or one of them not by itself."""

    what: str
    plugins: tuple[str, ...]


class LockError(FaultsError):
    """Plugins that do not fit together."""

    def __init__(self, faults: Sequence[LockFault]) -> None:
        fix = "mend that, or disable or remove one of them: limnos plugins list"
        super().__init__([fault.what for fault in faults], fix)
        self.faults = tuple(faults)


def _few(lines: Sequence[str]) -> list[str]:
    more = [f"and {len(lines) - MOST} more"] if len(lines) > MOST else []
    return [*lines[:MOST], *more]
