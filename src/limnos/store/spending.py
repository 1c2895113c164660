"""Money spent by a persona: one line a cost, so that processes can write at once."""

import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

from limnos.sdk.regular import open_regular
from limnos.store.amounts import amount
from limnos.store.whole import open_to_append, storage_error

_COMPARED = 200  # bytes before the place of the last look: is it still the same file?


class SpendingFile:
    """Lines of `<day> <amount>`; read from where the last look ended.

    When another file comes into its place its lines are added: what was spent stays spent.
    """

    def __init__(self, path: Path, now: Callable[[], str]) -> None:
        self._path = path
        self._now = now
        self._offset = 0
        self._before = b""
        self._days: dict[str, Decimal] = {}

    def add(self, cost: Decimal) -> None:
        """Append a cost. Raises StorageError."""
        try:
            descriptor = open_to_append(self._path)
            try:
                # half a line of a full disk or a crash may be there: it must not swallow this one
                line = f"\n{self._now()[:10]} {cost}\n".encode()
                while line:
                    line = line[os.write(descriptor, line) :]
            finally:
                os.close(descriptor)
        except OSError as error:
            raise storage_error(self._path, error) from None

    def today(self) -> Decimal:
        """The sum of this day, UTC."""
        self._catch_up()
        return self._days.get(self._now()[:10], Decimal(0))

    def total(self) -> Decimal:
        """The sum of all days."""
        self._catch_up()
        return sum(self._days.values(), Decimal(0))

    def _catch_up(self) -> None:
        try:
            with open_regular(self._path) as file:
                file.seek(self._offset - len(self._before))
                before, data = file.read(len(self._before)), file.read()
                if before != self._before:
                    file.seek(0)
                    self._offset, self._before, data = 0, b"", file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise storage_error(self._path, error) from None
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        self._before = whole[-_COMPARED:] or self._before
        for line in whole.decode("utf-8", "replace").splitlines():
            day, _, written = line.partition(" ")
            if (cost := amount(written)) is not None:
                self._days[day] = self._days.get(day, Decimal(0)) + cost
