"""Money that several processes spend at once."""

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from limnos.kernel.errors import StorageError
from limnos.store.spending import SpendingFile
from tests.store.disks import full_disk

SPEND = """
import sys
from decimal import Decimal
from pathlib import Path
from limnos.store.spending import SpendingFile
spending = SpendingFile(Path(sys.argv[1]), lambda: "2026-03-14T20:31:04.118Z")
for _ in range(200):
    spending.add(Decimal("0.001"))
"""


def spending(path: Path, day: str = "2026-03-14") -> SpendingFile:
    return SpendingFile(path, lambda: f"{day}T20:31:04.118Z")


def test_today_and_all_days_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "home" / "spending.log"
    spending(path, "2026-03-13").add(Decimal("1.10"))
    today = spending(path)
    today.add(Decimal("0.02"))

    assert today.today() == Decimal("0.02")
    assert today.total() == Decimal("1.12")
    assert spending(path, "2026-03-15").today() == 0


def test_what_was_spent_stays_spent_when_the_file_is_removed_or_emptied(tmp_path: Path) -> None:
    path = tmp_path / "spending"
    file = SpendingFile(path, lambda: "2026-03-01T10:00:00Z")
    file.add(Decimal(5))
    assert file.today() == 5

    path.unlink()
    file.add(Decimal(3))
    assert file.today() == 8
    path.write_text("")
    assert file.today() == 8
    file.add(Decimal(7))
    assert file.today() == 15


def test_nothing_spent_is_zero(tmp_path: Path) -> None:
    assert spending(tmp_path / "none").total() == 0


def test_processes_that_spend_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spending.log"
    mine = spending(path)
    assert mine.today() == 0
    others = [subprocess.Popen([sys.executable, "-c", SPEND, str(path)]) for _ in range(2)]
    for _ in range(200):
        mine.add(Decimal("0.001"))
    assert [other.wait(30) for other in others] == [0, 0]

    assert mine.today() == Decimal("0.600")


def test_lines_that_are_no_amount_do_not_count_and_do_not_break(tmp_path: Path) -> None:
    path = tmp_path / "spending.log"
    path.write_bytes(
        b"2026-03-14 1\n\xff\xfe\n2026-03-14 NaN\n2026-03-14 Infinity\n\n2026-03-14 two\n2026-03-14 2"
    )

    mine = spending(path)
    assert mine.today() == 1
    mine.add(Decimal(3))

    assert mine.today() == 1 + 2 + 3, "the half line took the next one with it"


def test_a_disk_that_refuses_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "spending.log").symlink_to("/dev/full")

    with pytest.raises(StorageError) as caught:
        spending(tmp_path / "spending.log").add(Decimal(1))

    assert "full" in caught.value.what


def test_a_full_disk_loses_only_what_it_refused(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        path = disk.folder / "spending.log"
        mine = spending(path)
        mine.add(Decimal(1))
        with disk.filled(path.stat().st_size + 5), pytest.raises(StorageError):
            mine.add(Decimal("0." + "1" * 8000))
        kept = mine.today()
        mine.add(Decimal(2))

        assert (kept, 3 <= mine.today() < 4) == (1, True)


def test_a_pipe_in_its_place_is_an_error_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "spending.log")

    with pytest.raises(StorageError):
        spending(tmp_path / "spending.log").add(Decimal(1))
    with pytest.raises(StorageError, match="no regular file"):
        spending(tmp_path / "spending.log").today()
